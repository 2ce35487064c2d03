#include "moe/train/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "moe/train/permutation.h"
#include "moe/train/source_identity.h"

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

Continued continued(Corpus& corpus, std::vector<SourceCursor> before) {
  std::int64_t next = 0;
  for (const SourceCursor& one : before) next = std::max(next, one.number + 1);
  std::vector<std::pair<SourceCursor, Source>> all;
  for (std::size_t i = 0; i < corpus.sources.size(); ++i) {
    Source& source = corpus.sources[i];
    SourceCursor cursor{source.name, 0, identity_of(source, corpus.vocabulary)};
    const auto known = std::ranges::find_if(before, [&](const SourceCursor& one) {
      return one.identity != 0 ? one.identity == cursor.identity : one.name == source.name;
    });
    if (known == before.end()) {
      cursor.number = next++;
    } else {
      cursor.drawn = known->drawn;
      cursor.number = known->number;
      before.erase(known);
    }
    all.emplace_back(std::move(cursor), std::move(source));
  }
  std::ranges::sort(all, {}, [](const auto& one) { return one.first.number; });
  Continued result{{}, std::move(before)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    result.cursors.push_back(std::move(all[i].first));
    corpus.sources[i] = std::move(all[i].second);
  }
  return result;
}

Batches::Batches(const Corpus& corpus, std::int64_t seed, std::int64_t global_batch,
                 DataOptions options)
    : corpus_(corpus), seed_(seed), global_batch_(global_batch), options_(std::move(options)) {
  if (options_.order == DataOrder::random) return;
  cursors_ = std::exchange(options_.cursors, {});
  if (cursors_.empty()) {
    for (const Source& source : corpus.sources) {
      cursors_.push_back({source.name, 0, identity_of(source, corpus.vocabulary),
                          static_cast<std::int64_t>(cursors_.size())});
    }
  }
  if (cursors_.size() != corpus.sources.size()) {
    throw std::invalid_argument(
        fmt::format("Batches: {} cursors of {} sources", cursors_.size(), corpus.sources.size()));
  }
  for (SourceCursor& one : cursors_) one.in_order = options_.order == DataOrder::in_order;
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
        mix_all({seed, kOrders, static_cast<std::uint64_t>(cursors[chosen].number),
                 static_cast<std::uint64_t>(place / sequences)});
    const std::int64_t sequence = options_.order == DataOrder::in_order
                                      ? place % sequences
                                      : permuted(place % sequences, sequences, key);
    places.push_back({chosen, sequence * corpus_.sequence_length});
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
