#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <utility>

namespace viewer {

/// What is asked of the timelines of a stack and takes time to answer.
enum class Question {
  styles,
  legend,
  summaries,
  index,
  path,
  selected,
  counterpart,
  ops,
  late,
  difference,
  difference_colors,
  memory,
  nodes,
  clock_error,
};

/// Answers that are kept from frame to frame: of each question about a timeline the last one, with
/// what it was found from.
class Memo {
 public:
  /// The answer to a question about `of` (the id of a timeline; 0 for a whole stack). `find` finds
  /// it at the first call, and again where it was found `from` something else than now; while
  /// `stay` holds, what is there stays.
  template <class From, class Find>
  auto& answer(Question question, std::int64_t of, const From& from, const Find& find,
               bool stay = false) {
    using Answer = decltype(find());
    using Kept = std::pair<From, Answer>;
    std::any& place = answers_[{question, of}];
    auto* kept = std::any_cast<Kept>(&place);
    if (kept == nullptr || (!stay && !(kept->first == from))) {
      Answer found = find();  // it may ask, too
      kept = &place.emplace<Kept>(from, std::move(found));
    }
    return kept->second;
  }

  bool has(Question question, std::int64_t of) const { return answers_.contains({question, of}); }
  void forget() { answers_.clear(); }

 private:
  std::map<std::pair<Question, std::int64_t>, std::any> answers_;
};

}  // namespace viewer
