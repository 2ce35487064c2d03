#include "moe/train/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "moe/train/permutation.h"

namespace moe {
namespace {

/// Keeps the draws of sources and of orders apart from each other.
constexpr std::uint64_t kDrawsOfSources = 101, kOrders = 102;

std::span<const SamplePlace> samples_of(const std::vector<SamplePlace>& places,
                                        SampleRange samples) {
  return std::span(places).subspan(static_cast<std::size_t>(samples.first),
                                   static_cast<std::size_t>(samples.count));
}

}  // namespace

std::int64_t sequences_in(const Source& source, std::int64_t sequence_length) {
  return (source.training_tokens - 1) / sequence_length;
}

std::vector<SourceCursor> continued(const Corpus& corpus, const std::vector<SourceCursor>& before,
                                    bool same_text) {
  std::vector<SourceCursor> cursors;
  const bool by_place = same_text && before.size() == corpus.sources.size();
  for (const Source& source : corpus.sources) {
    const auto known =
        by_place ? before.begin() + static_cast<std::ptrdiff_t>(cursors.size())
                 : std::find_if(before.begin(), before.end(),
                                [&](const SourceCursor& one) { return one.name == source.name; });
    cursors.push_back({source.name, known == before.end() ? 0 : known->drawn});
  }
  return cursors;
}

Batches::Batches(const Corpus& corpus, std::int64_t seed, std::int64_t global_batch,
                 DataOptions options)
    : corpus_(corpus), seed_(seed), global_batch_(global_batch), options_(std::move(options)) {
  if (options_.order == DataOrder::random) return;
  cursors_ = std::exchange(options_.cursors, {});
  if (cursors_.empty()) {
    for (const Source& source : corpus.sources) cursors_.push_back({source.name});
  }
  if (cursors_.size() != corpus.sources.size()) {
    throw std::invalid_argument(
        fmt::format("Batches: {} cursors of {} sources", cursors_.size(), corpus.sources.size()));
  }
}

std::vector<SamplePlace> Batches::places_of(std::int64_t step,
                                            std::vector<SourceCursor>& cursors) const {
  if (options_.order == DataOrder::random) {
    return random_places(corpus_, Split::training, seed_, options_.one_batch ? 1 : step,
                         {0, global_batch_});
  }
  const auto seed = static_cast<std::uint64_t>(seed_);
  std::int64_t drawn = 0;  // of all sources together
  for (const SourceCursor& cursor : cursors) drawn += cursor.drawn;
  std::vector<SamplePlace> places;
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    const std::size_t chosen = draw_source(
        corpus_, mix_all({seed, kDrawsOfSources, static_cast<std::uint64_t>(drawn + i)}));
    const std::int64_t sequences = sequences_in(corpus_.sources[chosen], corpus_.sequence_length);
    const std::int64_t place = cursors[chosen].drawn++;
    const std::uint64_t key =
        mix_all({seed, kOrders, chosen, static_cast<std::uint64_t>(place / sequences)});
    places.push_back(
        {chosen, permuted(place % sequences, sequences, key) * corpus_.sequence_length});
  }
  return places;
}

std::vector<EpochEnd> Batches::begin(std::int64_t step) {
  if (options_.one_batch) {
    std::vector<SourceCursor> first = cursors_;
    places_ = next_ = places_of(step, first);
    return {};
  }
  const std::vector<SourceCursor> before = cursors_;
  places_ = places_of(step, cursors_);
  std::vector<SourceCursor> after = cursors_;
  next_ = places_of(step + 1, after);
  std::vector<EpochEnd> ends;
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    const std::int64_t sequences = sequences_in(corpus_.sources[i], corpus_.sequence_length);
    const std::int64_t epochs = cursors_[i].drawn / sequences;
    if (epochs > before[i].drawn / sequences) {
      ends.push_back({cursors_[i].name, epochs, sequences});
    }
  }
  return ends;
}

Batch Batches::read(SampleRange samples) const {
  Batch batch = read_batch(corpus_, samples_of(places_, samples));
  read_batch_ahead(corpus_, samples_of(next_, samples));
  return batch;
}

}  // namespace moe
