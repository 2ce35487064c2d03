#pragma once

#include <string>
#include <string_view>

#include "moe/model/model.h"
#include "moe/rows/layout.h"

namespace tuner {

/// A way to divide a model and its batch over ranks, before any schedule.
struct TrainingSetup {
  moe::Layout layout;
  moe::BatchPer batch_per = moe::BatchPer::rank;
  int micro_batches = 1;

  friend bool operator==(const TrainingSetup&, const TrainingSetup&) = default;
};

/// "rank", "tp_group": as the key batch_per has it.
std::string_view name_of(moe::BatchPer batch_per);

/// The model with the setup's batch_per and micro_batches.
moe::Model with_setup(moe::Model model, const TrainingSetup& setup);

/// A model whose whole batch is as large as `count` micro-batches of the setup, in as many.
moe::Model with_so_many_micro_batches(moe::Model model, const TrainingSetup& setup, int count);

/// The options that give a program the setup: "--layout dp=1,ep=8 --set training.micro_batches=2";
/// of the keys of `model` those that change.
std::string options_of(const moe::Model& model, const TrainingSetup& setup);

}  // namespace tuner
