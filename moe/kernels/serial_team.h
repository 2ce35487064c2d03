#pragma once

#include <cstdint>
#include <type_traits>

#include "moe/kernels/bf16.h"

namespace moe {

/// A team is the group of threads that work on one row together, as the body of a kernel sees it.
/// On the processor it is one thread whose loops are written to vectorise; on the device it is a
/// warp or a block (backend/device_team.cuh). Both have these functions:
///   for_each(n, f)        f(i) once for every i, in any order
///   map(n, out, f, in...) out[i] = f(in[i]...); other members see it after sync()
///   update(n, out, f, a...) as map(), and f may change the elements of arrays that are not const;
///                         out may be one of the arrays, which is then const
///   hold(n, in), hold(n, out, f, in...)
///                         a row that is read more than once, after map() in the second form: map(),
///                         sum() and max() take what it returns for an array. It is of the smallest
///                         type of each call
///   sum(n, f), max(n, f)  of f(i), called once for every i; the order depends on n alone
///   sum(n, f, in...), max(n, f, in)
///                         of f(in[i]...); the order depends on n and on the types
///   sum_rows(n, out, onto, count, from, stride, at)
///                         out[c] = weight from[row * stride + c] added up over at(i) = {row, weight},
///                         i < count, in order; `onto` what out is. At::kAtOnce says how many rows
///                         a member of a device loads before it adds the first
///   first(begin, end, f)  the first i with f(i), end where there is none
///   scan(n, f, g)         g(i, sum of f over all before i) in any order; returns the whole sum
///   sync()                after it, all members see what any member wrote
///   leader()              true for one member, which stores scalars
/// All members get the same results and must call the same functions in the same order. Which member
/// has which element in map(), update() and hold() depends on n and the smallest type, so that it
/// goes on with what it wrote itself.
class SerialTeam {
 public:
  template <class F>
  void for_each(std::int64_t n, F f) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }

  template <class Out, class F, class... In>
  void map(std::int64_t n, Out* out, F f, const In*... in) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(in[i]...);
  }

  template <class Out, class F, class... T>
  void update(std::int64_t n, Out* out, F f, T*... arrays) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(arrays[i]...);
  }

  template <class T>
  const T* hold(std::int64_t, const T* in) {
    return in;
  }
  template <class Out, class F, class... In>
  const Out* hold(std::int64_t n, Out* out, F f, const In*... in) {
    map(n, out, f, in...);
    return out;
  }

  /// Sixteen partial sums, whatever the width of the processor's vectors, so that the result is the
  /// same on every machine.
  template <class F>
  auto sum(std::int64_t n, F f) {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    return fold<Value>(n, Value{}, f, [](Value a, Value b) { return a + b; });
  }

  template <class F, class T, class... In>
  auto sum(std::int64_t n, F f, const T* first, const In*... in) {
    return sum(n, [=](std::int64_t i) { return f(first[i], in[i]...); });
  }

  /// n >= 1.
  template <class F>
  auto max(std::int64_t n, F f) {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    return fold<Value>(n, f(0), f, [](Value a, Value b) { return b > a ? b : a; });
  }
  template <class F, class T>
  auto max(std::int64_t n, F f, const T* in) {
    return max(n, [=](std::int64_t i) { return f(in[i]); });
  }

  /// Where `out` holds fewer bits than sums, kRowsAtOnce rows are added at once; of more, every sum
  /// of so many is rounded.
  template <class Stored, class Out, class At>
  void sum_rows(std::int64_t n, Out* out, bool onto, std::int64_t count, const Stored* from,
                std::int64_t stride, At at) {
    using Real = Wide<Stored>;
    bool empty = !onto;
    for (std::int64_t i = 0; i < count;) {
      if constexpr (std::is_same_v<Out, Real>) {
        const auto [row, weight] = at(i++);
        if (row < 0) continue;
        add_row(n, out, empty, from + row * stride, weight);
        empty = false;
      } else {
        Some<Stored> some;
        some.count = 0;
        for (; i < count && some.count < kRowsAtOnce; ++i) {
          const auto [row, weight] = at(i);
          if (row < 0) continue;
          some.row[some.count] = from + row * stride;
          some.weight[some.count++] = weight;
        }
        if (some.count == 0) continue;
        add_rows(n, out, empty, some);
        empty = false;
      }
    }
    if (empty) for_each(n, [=](std::int64_t c) { out[c] = Out(0); });
  }

  template <class F>
  std::int64_t first(std::int64_t begin, std::int64_t end, F f) {
    std::int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      int found = 0;
      for (int lane = 0; lane < 4 * kLanes; ++lane) found |= f(i + lane) ? 1 : 0;
      if (found != 0) break;
    }
    while (i < end && !f(i)) ++i;
    return i;
  }

  template <class F, class G>
  auto scan(std::int64_t n, F f, G g) {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value before{};
    for (std::int64_t i = 0; i < n; ++i) {
      const Value value = f(i);
      g(i, before);
      before += value;
    }
    return before;
  }

  void sync() {}
  bool leader() const { return true; }

 private:
  static constexpr int kLanes = 16;
  static constexpr int kBlock = 256;
  static constexpr int kRowsAtOnce = 16;

  template <class Stored>
  struct Some {
    const Stored* row[kRowsAtOnce];
    Wide<Stored> weight[kRowsAtOnce];
    int count;
  };

  template <class Stored, class Out, class Real>
  void add_row(std::int64_t n, Out* out, bool first, const Stored* in, Real weight) {
    if (first) {
      for_each(n, [=](std::int64_t c) { out[c] = weight * in[c]; });
    } else {
      for_each(n, [=](std::int64_t c) { out[c] = out[c] + weight * in[c]; });
    }
  }

  template <class Stored, class Out>
  void add_rows(std::int64_t n, Out* out, bool first, const Some<Stored>& some) {
    using Real = Wide<Stored>;
    const Stored* in = some.row[0];
    const Real weight = some.weight[0];
    if (first && some.count == 1) {
      for_each(n, [=](std::int64_t c) { out[c] = weight * in[c]; });
    } else if (first && some.count == 2) {
      const Stored* other = some.row[1];
      const Real of_other = some.weight[1];
      for_each(n, [=](std::int64_t c) { out[c] = weight * in[c] + of_other * other[c]; });
    } else {
      const Some<Stored>* all = &some;
      for_each(n, [=](std::int64_t c) {
        Real total = first ? Real(0) : Real(out[c]);
        for (int i = 0; i < all->count; ++i) total += all->weight[i] * all->row[i][c];
        out[c] = total;
      });
    }
  }

  /// First computes the values of a block, then adds them lane by lane: each of the two loops
  /// vectorises, where one loop that did both would not.
  template <class Value, class F, class Operation>
  static Value fold(std::int64_t n, Value start, F f, Operation operation) {
    static_assert(std::is_arithmetic_v<Value>, "sums are made in Wide<Stored> (bf16.h)");
    Value partial[kLanes];
    for (Value& value : partial) value = start;
    Value block[kBlock];
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const int size = static_cast<int>(n - begin < kBlock ? n - begin : kBlock);
#pragma GCC ivdep
      for (int i = 0; i < size; ++i) block[i] = f(begin + i);
      const int padded = (size + kLanes - 1) / kLanes * kLanes;
      for (int i = size; i < padded; ++i) block[i] = start;
      for (int i = 0; i < padded; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
          partial[lane] = operation(partial[lane], block[i + lane]);
        }
      }
    }
#pragma GCC unroll 4
    for (int half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (int lane = 0; lane < half; ++lane) {
        partial[lane] = operation(partial[lane], partial[lane + half]);
      }
    }
    return partial[0];
  }
};

}  // namespace moe
