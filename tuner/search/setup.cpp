#include "tuner/search/setup.h"

#include <fmt/format.h>

#include <utility>

namespace tuner {

std::string_view name_of(moe::BatchPer batch_per) {
  return batch_per == moe::BatchPer::rank ? "rank" : "tp_group";
}

moe::Model with_setup(moe::Model model, const TrainingSetup& setup) {
  model.batch_per = setup.batch_per;
  model.micro_batches = setup.micro_batches;
  return model;
}

moe::Model with_so_many_micro_batches(moe::Model model, const TrainingSetup& setup, int count) {
  const int all = setup.micro_batches;
  model = with_setup(std::move(model), setup);
  model.global_batch = model.global_batch / all * count;
  model.capacity_groups = model.capacity_groups / all * count;
  model.micro_batches = count;
  return model;
}

std::string options_of(const moe::Model& model, const TrainingSetup& setup) {
  std::string text = fmt::format("--layout {}", moe::short_text(setup.layout));
  if (setup.micro_batches != model.micro_batches) {
    text += fmt::format(" --set training.micro_batches={}", setup.micro_batches);
  }
  if (setup.batch_per != model.batch_per) {
    text += fmt::format(" --set training.batch_per={}", name_of(setup.batch_per));
  }
  return text;
}

}  // namespace tuner
