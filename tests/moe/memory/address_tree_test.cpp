#include "moe/memory/address_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace moe::address_tree_test {
namespace {

struct Range {
  std::int64_t begin = 0, end = 0;
};
struct Largest {
  explicit Largest(const Range& range) : size(range.end - range.begin) {}
  void include(const Largest& other) { size = std::max(size, other.size); }
  std::int64_t size;
};
using Tree = AddressTree<Range, Largest>;

std::optional<Range> first(const Tree& tree, std::int64_t from, std::int64_t size) {
  return tree.first(
      from, [&](const Largest& largest) { return largest.size >= size; },
      [&](const Range& range) { return range.end - range.begin >= size; });
}

TEST(AddressTree, FindsTheLowestThatIsAsAsked) {
  Tree tree;
  EXPECT_FALSE(first(tree, 0, 1));
  for (const Range range : {Range{50, 60}, {0, 4}, {10, 18}, {30, 45}}) tree.insert(range);
  EXPECT_EQ(first(tree, 0, 1)->begin, 0);
  EXPECT_EQ(first(tree, 0, 5)->begin, 10);
  EXPECT_EQ(first(tree, 0, 9)->begin, 30);
  EXPECT_EQ(first(tree, 31, 9)->begin, 50);
  EXPECT_FALSE(first(tree, 0, 16));
  tree.erase(30);
  EXPECT_EQ(first(tree, 0, 9)->end, 60);
  EXPECT_EQ(tree.last_until(49)->begin, 10);
  EXPECT_EQ(tree.last_until(50)->begin, 50);
  EXPECT_EQ(tree.last_until(0)->end, 4);
  EXPECT_FALSE(tree.last_until(-1));
  tree.clear();
  EXPECT_FALSE(tree.last_until(100));
}

TEST(AddressTree, AgreesWithAListInWhateverOrderRangesComeAndGo) {
  std::mt19937 random(3);
  const auto below = [&](int end) { return static_cast<std::int64_t>(random() % end); };
  Tree tree;
  std::map<std::int64_t, std::int64_t> list;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t begin = 10 * below(500);
    if (list.erase(begin) > 0) {
      tree.erase(begin);
    } else {
      list[begin] = begin + 1 + below(9);
      tree.insert({begin, list[begin]});
    }
    const std::int64_t from = below(5000), size = 1 + below(11);
    auto expected = list.lower_bound(from);
    while (expected != list.end() && expected->second - expected->first < size) ++expected;
    const auto found = first(tree, from, size);
    ASSERT_EQ(found.has_value(), expected != list.end());
    if (found) {
      ASSERT_EQ(found->begin, expected->first);
      ASSERT_EQ(found->end, expected->second);
    }
    const auto behind = list.upper_bound(from);
    const auto last = tree.last_until(from);
    ASSERT_EQ(last.has_value(), behind != list.begin());
    if (last) {
      ASSERT_EQ(last->begin, std::prev(behind)->first);
    }
  }
}

}  // namespace
}  // namespace moe::address_tree_test
