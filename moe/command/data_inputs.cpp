#include "moe/command/data_inputs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/train/source_identity.h"

namespace moe {
namespace {

struct DataFile {
  std::filesystem::path path;
  std::optional<double> weight;
};

DataFile data_file(const std::string& word) {
  std::error_code ignored;
  const std::size_t colon = word.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(word, ignored)) return {word, {}};
  const std::string_view tail = std::string_view(word).substr(colon + 1);
  double weight = 0;
  const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), weight);
  const bool is_beyond = error == std::errc::result_out_of_range;
  if ((error != std::errc() && !is_beyond) || end != tail.data() + tail.size()) return {word, {}};
  if (is_beyond || !std::isfinite(weight) || weight <= 0) {
    throw InputError(fmt::format("--data {}: a weight of {}: expected one above 0{}", word, tail,
                                 is_beyond ? ", from 1e-300 to 1e300" : ""));
  }
  return {word.substr(0, colon), weight};
}

constexpr const char* kOtherText = "the text is not the one that the checkpoint was trained on";

DataOrder order_of(const TrainArguments& arguments) {
  if (arguments.data_order == "in_order") return DataOrder::in_order;
  const bool shuffled =
      arguments.data_order.empty() ? !arguments.data.empty() : arguments.data_order == "shuffled";
  return shuffled ? DataOrder::shuffled : DataOrder::random;
}

}  // namespace

Corpus open_data(const TrainArguments& arguments, const Model& model) {
  std::vector<std::filesystem::path> files;
  std::vector<double> weights;
  bool weighted = false;
  for (const std::string& word : arguments.data) {
    const DataFile file = data_file(word);
    files.push_back(file.path);
    weights.push_back(file.weight.value_or(1));
    weighted = weighted || file.weight.has_value();
  }
  if (!weighted) weights.clear();
  return open_corpus(std::move(files), {.vocabulary = model.vocabulary,
                                        .sequence_length = model.sequence_length,
                                        .weights = std::move(weights),
                                        .raw_token_bits = arguments.token_bits});
}

std::vector<InputFact> facts_of_data(const Corpus& corpus) {
  std::vector<InputFact> facts;
  for (std::size_t i = 0; i < corpus.sources.size(); ++i) {
    const Source& source = corpus.sources[i];
    facts.push_back({corpus.sources.size() == 1 ? std::string("--data")
                                                : fmt::format("text {} of --data", i + 1),
                     fmt::format("{} tokens, {} to train on, weight {}, {:016x}", source.tokens,
                                 source.training_tokens, source.weight,
                                 identity_of(source, corpus.vocabulary))});
  }
  facts.push_back({"the fingerprint of --data", fmt::format("{:016x}", corpus.fingerprint)});
  return facts;
}

DataOptions data_options(const TrainArguments& arguments, const Model& model, Corpus& corpus,
                         std::optional<ResumePoint>& resume) {
  DataOptions options{.order = order_of(arguments), .one_batch = arguments.overfit_batch};
  if (!resume) return options;
  const CheckpointIndex& index = resume->index;
  const bool had_epochs = !index.cursors.empty();
  const bool was_in_order = had_epochs && index.cursors.front().in_order;
  const bool same_text = index.corpus_fingerprint == corpus.fingerprint;
  const bool had_text = index.iteration > 0;  // else its parameters were imported
  const bool knows_texts =
      had_epochs && options.order != DataOrder::random && index.cursors.front().identity != 0;
  if (had_text && !same_text && !knows_texts) {
    resume->remarks.emplace_back(kOtherText);
  }
  if (options.order == DataOrder::random) {
    if (had_epochs) {
      resume->remarks.push_back(fmt::format(
          "data was {} up to iteration {}, and samples are drawn at random from there on",
          was_in_order ? "in order" : "shuffled", index.iteration));
    }
    return options;
  }
  if (!had_epochs) {
    if (had_text) {
      resume->remarks.push_back(
          fmt::format("samples were drawn at random up to iteration {}, and from there on epochs "
                      "begin with the first",
                      index.iteration));
    }
    return options;
  }
  // Other sequences, or in another order: none of them has been drawn.
  const bool same_cut = index.model.sequence_length == model.sequence_length &&
                        index.model.seed == model.seed &&
                        was_in_order == (options.order == DataOrder::in_order);
  Continued goes_on = continued(corpus, same_cut ? index.cursors : std::vector<SourceCursor>{});
  if (arguments.evaluate_only) {  // nothing is drawn from epochs
    if (!goes_on.gone.empty() || goes_on.cursors.size() != index.cursors.size()) {
      resume->remarks.emplace_back(kOtherText);
    }
    return options;
  }
  for (const SourceCursor& cursor : goes_on.cursors) {
    if (cursor.drawn > 0) continue;
    resume->remarks.push_back(fmt::format("{}: begins with its first epoch", cursor.name));
  }
  for (const SourceCursor& cursor : goes_on.gone) {
    resume->remarks.push_back(
        fmt::format("{}: is not trained on any more, after {} of its "
                    "sequences",
                    cursor.name, cursor.drawn));
  }
  options.cursors = std::move(goes_on.cursors);
  return options;
}

void say_epochs(const DataOptions& options, const Corpus& corpus, std::int64_t tokens,
                const StepReport& step) {
  if (options.one_batch) return;
  for (const EpochEnd& end : step.epoch_ends) {
    spdlog::info("iteration {}: epoch {} of {} ends, of {} sequences", step.iteration, end.epoch,
                 end.source, end.sequences);
  }
  if (options.order != DataOrder::random) return;
  const std::int64_t epochs = step.iteration * tokens / corpus.training_tokens;
  if (epochs > (step.iteration - 1) * tokens / corpus.training_tokens) {
    spdlog::info("iteration {}: as many tokens have been drawn as {} epoch{} ha{}", step.iteration,
                 epochs, epochs == 1 ? "" : "s", epochs == 1 ? "s" : "ve");
  }
}

}  // namespace moe
