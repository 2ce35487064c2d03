#include "moe/train/text_sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "moe/communicator/ranks.h"
#include "moe/kernels/counter_random.h"
#include "moe/kernels/with_type.h"

namespace moe {
namespace {

/// The logits of one token that a rank has: [first_id, first_id + logits.size()).
struct HeldLogits {
  std::int64_t first_id = 0;
  std::vector<double> logits;
};

std::vector<double> wide_values(std::span<const std::byte> bytes, DType dtype) {
  const auto read = [&]<class T>(T) {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
    return values;
  };
  if (dtype == DType::i32) throw std::logic_error("sample_tokens: logits of integers");
  return with_type(dtype, read);
}

/// Writes the text into every sequence of the batch; what is left of a sequence repeats it.
void write_text(Runner& runner, const std::vector<std::int32_t>& text, const Model& model,
                const Groups& groups, int rank) {
  const Program& program = runner.program();
  for (std::size_t i = 0; i < program.tokens.size(); ++i) {
    for (const TensorId input : {program.tokens[i], program.targets[i]}) {
      if (input < 0) continue;
      std::vector<std::int32_t> values(static_cast<std::size_t>(program.tensors[input].rows));
      const auto first = static_cast<std::size_t>(rank_in_stage(groups, rank)) * values.size();
      for (std::size_t t = 0; t < values.size(); ++t) {
        const std::size_t position = (first + t) % static_cast<std::size_t>(model.sequence_length);
        values[t] = text[position % text.size()];
      }
      runner.write(input, std::as_bytes(std::span(values)));
    }
  }
}

/// Reads the logits of a position of the first sequence where this rank has them, when an op that
/// takes all logits of the first micro-batch has ended.
class LogitsReader {
 public:
  LogitsReader(std::int64_t position, const Groups& groups, Backend& backend, int rank)
      : position_(position), groups_(groups), backend_(backend), rank_(rank) {}

  void after(const BoundOp& bound) {
    const Op& op = *bound.op;
    if (op.micro_batch != 0) return;
    const auto* shared = std::get_if<VocabularyStatistics>(&op.kind);
    if (shared == nullptr && !std::holds_alternative<CrossEntropy>(op.kind)) return;
    const View& logits = bound.reads.front();
    // Where ranks cut the vocabulary, each has the tokens of all of them.
    const int in_stage = rank_in_stage(groups_, rank_);
    const int first_rank =
        shared == nullptr ? in_stage : in_stage - index_in_group(groups_, GroupKind::tensor, rank_);
    const std::int64_t ranks = shared == nullptr ? 1 : group_size(groups_, GroupKind::tensor);
    const std::int64_t row = position_ - first_rank * (logits.rows / ranks);
    if (row < 0 || row >= logits.rows) return;
    const std::int64_t row_bytes = logits.columns * bytes_of(logits.dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(row_bytes));
    backend_.download(bytes, static_cast<const std::byte*>(logits.data) + row * row_bytes,
                      op.stream);
    held = {shared == nullptr ? 0 : shared->first_id, wide_values(bytes, logits.dtype)};
  }

  HeldLogits held{};

 private:
  std::int64_t position_;
  const Groups& groups_;
  Backend& backend_;
  int rank_;
};

/// The logits of all tokens, from the ranks that have them. Collective.
std::vector<double> gathered_logits(const HeldLogits& mine, std::int64_t vocabulary,
                                    Communicator& world, const CallContext& call) {
  std::string text(sizeof mine.first_id + mine.logits.size() * sizeof(double), '\0');
  std::memcpy(text.data(), &mine.first_id, sizeof mine.first_id);
  std::memcpy(text.data() + sizeof mine.first_id, mine.logits.data(),
              mine.logits.size() * sizeof(double));
  std::vector<double> all(static_cast<std::size_t>(vocabulary));
  for (const std::string& one : gather_texts(world, text, call)) {
    std::int64_t first = 0;
    std::memcpy(&first, one.data(), sizeof first);
    std::memcpy(all.data() + first, one.data() + sizeof first, one.size() - sizeof first);
  }
  return all;
}

}  // namespace

std::int32_t next_token(const std::vector<double>& logits, double temperature, double uniform) {
  const auto largest = std::ranges::max_element(logits);
  if (temperature == 0) return static_cast<std::int32_t>(largest - logits.begin());
  std::vector<double> up_to(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum += std::exp((logits[i] - *largest) / temperature);
    up_to[i] = sum;
  }
  const auto found = std::ranges::lower_bound(up_to, uniform * sum);
  return static_cast<std::int32_t>(std::min(found, up_to.end() - 1) - up_to.begin());
}

std::vector<std::int32_t> sample_tokens(Runner& runner, const Model& model, const Groups& groups,
                                        Backend& backend, Communicator& world,
                                        const SampleOptions& options, double time_limit_s,
                                        const std::function<bool()>& is_asked_to_end) {
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "gathering of logits";
  const std::uint64_t key = mix(mix(static_cast<std::uint64_t>(model.seed)) ^ 0x7361'6d70'6c65);
  std::vector<std::int32_t> text = options.prompt;
  for (int i = 0; i < options.tokens && !is_asked_to_end(); ++i) {
    const std::size_t seen = std::min(text.size(), static_cast<std::size_t>(model.sequence_length));
    const std::vector<std::int32_t> context(text.end() - static_cast<std::ptrdiff_t>(seen),
                                            text.end());
    write_text(runner, context, model, groups, world.rank);
    LogitsReader reader(static_cast<std::int64_t>(seen) - 1, groups, backend, world.rank);
    runner.iterate_observed([&](const BoundOp& bound) { reader.after(bound); });
    const std::vector<double> logits = gathered_logits(reader.held, model.vocabulary, world, call);
    text.push_back(next_token(logits, options.temperature,
                              unit(mix(key ^ mix(static_cast<std::uint64_t>(i))))));
  }
  text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(options.prompt.size()));
  return text;
}

}  // namespace moe
