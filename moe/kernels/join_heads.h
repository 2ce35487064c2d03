#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"
#include "moe/kernels/wide_loads.h"

namespace moe {

/// Where the columns of heads are: in kv [unshared keys, values] a head, in qkv as attention reads
/// them. In packs of so many elements.
struct JoinedColumns {
  std::int64_t queries;  ///< columns of q
  std::int32_t heads;    ///< of k and v
  std::int32_t shared, unshared, values;

  constexpr std::int32_t of_keys() const { return shared + unshared; }
  constexpr std::int32_t of_kv() const { return unshared + values; }
  constexpr std::int64_t of_qkv() const {
    return queries + std::int64_t{heads} * (of_keys() + values);
  }
};

/// A team per token, whose threads move `pack` elements at a time.
template <class Stored, int pack>
struct JoinHeadsBody {
  static constexpr bool kWideRows = true;
  const Stored* q;
  const Stored* kv;
  const Stored* shared_key;
  Stored* qkv;
  JoinedColumns columns;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const JoinedColumns n = columns;
    const std::int64_t in_queries = token * n.queries, in_kv = token * n.heads * n.of_kv(),
                       in_shared = token * n.shared, to_queries = token * n.of_qkv(),
                       to_keys = to_queries + n.queries,
                       to_values = to_keys + std::int64_t{n.heads} * n.of_keys();
    const Stored *queries = q, *of_heads = kv, *of_all = shared_key;
    Stored* const out = qkv;
    team.for_each(n.queries, [=](std::int64_t c) {
      pack_at<pack>(out, to_queries + c) = pack_at<pack>(queries, in_queries + c);
    });
    team.for_each(std::int64_t{n.heads} * n.of_keys(), [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / n.of_keys(), column = c % n.of_keys() - n.shared;
      pack_at<pack>(out, to_keys + c) =
          column < 0 ? pack_at<pack>(of_all, in_shared + n.shared + column)
                     : pack_at<pack>(of_heads, in_kv + head * n.of_kv() + column);
    });
    team.for_each(std::int64_t{n.heads} * n.values, [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / n.values, column = c % n.values;
      pack_at<pack>(out, to_values + c) =
          pack_at<pack>(of_heads, in_kv + head * n.of_kv() + n.unshared + column);
    });
  }
};

/// A team per token.
template <class Stored, int pack>
struct JoinHeadsGradientBody {
  static constexpr bool kWideRows = true;
  const Stored* d_qkv;
  Stored* d_q;
  Stored* d_kv;
  Stored* d_shared_key;
  JoinedColumns columns;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const JoinedColumns n = columns;
    const std::int64_t to_queries = token * n.queries, to_kv = token * n.heads * n.of_kv(),
                       to_shared = token * n.shared, in_queries = token * n.of_qkv(),
                       in_keys = in_queries + n.queries,
                       in_values = in_keys + std::int64_t{n.heads} * n.of_keys();
    const Stored* const in = d_qkv;
    Stored *queries = d_q, *of_heads = d_kv, *of_all = d_shared_key;
    team.for_each(n.queries, [=](std::int64_t c) {
      pack_at<pack>(queries, to_queries + c) = pack_at<pack>(in, in_queries + c);
    });
    team.for_each(std::int64_t{n.heads} * n.of_kv(), [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / n.of_kv(), column = c % n.of_kv();
      pack_at<pack>(of_heads, to_kv + c) = pack_at<pack>(
          in, column < n.unshared ? in_keys + head * n.of_keys() + n.shared + column
                                  : in_values + head * n.values + column - n.unshared);
    });
    team.for_each(n.shared, [=](std::int64_t c) {
      Wide<Stored> sums[pack] = {};
      for (std::int32_t head = 0; head < n.heads; ++head) {
        const Pack<Stored, pack> one = pack_at<pack>(in, in_keys + head * n.of_keys() + c);
        MOE_UNROLL(8)
        for (int k = 0; k < pack; ++k) sums[k] += one.value[k];
      }
      Pack<Stored, pack> rounded;
      MOE_UNROLL(8)
      for (int k = 0; k < pack; ++k) rounded.value[k] = sums[k];
      pack_at<pack>(of_all, to_shared + c) = rounded;
    });
  }
};

/// Their columns by the shapes of the operands. Throws std::logic_error where these do not fit.
inline JoinedColumns joined_columns(std::int64_t heads, std::int64_t key_value_heads, const View& q,
                                    const View& kv, const View& shared, const View& qkv) {
  if (heads > 0 && key_value_heads > 0 && q.columns % heads == 0 &&
      kv.columns % key_value_heads == 0) {
    const std::int64_t unshared = q.columns / heads - shared.columns,
                       values = kv.columns / key_value_heads - unshared;
    const JoinedColumns joined{q.columns, static_cast<std::int32_t>(key_value_heads),
                               static_cast<std::int32_t>(shared.columns),
                               static_cast<std::int32_t>(unshared),
                               static_cast<std::int32_t>(values)};
    if (unshared >= 0 && values > 0 && joined.of_qkv() == qkv.columns) return joined;
  }
  throw std::logic_error("join_heads: " + std::to_string(q.columns) + " columns of " +
                         std::to_string(heads) + " heads, " + std::to_string(kv.columns) + " of " +
                         std::to_string(key_value_heads) + " heads of keys and values, and " +
                         std::to_string(shared.columns) + " for all make no " +
                         std::to_string(qkv.columns));
}

/// make(pack) -> the body whose threads move so many elements at a time: as many as all widths and
/// addresses allow.
template <class Stored, class Exec, class Make>
void launch_joined(Exec& exec, const View& qkv, const JoinedColumns& columns,
                   std::initializer_list<const Stored*> addresses, const Make& make) {
  const auto in_packs = [&]<int pack>(std::integral_constant<int, pack> of) {
    exec.rows(qkv.rows, qkv.columns,
              make(of, JoinedColumns{columns.queries / pack, columns.heads, columns.shared / pack,
                                     columns.unshared / pack, columns.values / pack}));
  };
  constexpr int most = kPackWidth<Stored>;
  const bool divide = columns.queries % most == 0 && columns.shared % most == 0 &&
                      columns.unshared % most == 0 && columns.values % most == 0;
  const bool aligned = std::ranges::all_of(addresses, [](const Stored* at) {
    return reinterpret_cast<std::uintptr_t>(at) % kPackBytes == 0;
  });
  if (aligned && divide) {
    in_packs(std::integral_constant<int, most>{});
  } else {
    in_packs(std::integral_constant<int, 1>{});
  }
}

template <class Stored, class Exec>
void launch(Exec& exec, const JoinHeads& op, const BoundOp& bound) {
  const View& to = bound.writes[0];
  const JoinedColumns columns = joined_columns(op.heads, op.key_value_heads, bound.reads[0],
                                               bound.reads[1], bound.reads[2], to);
  const Stored *q = data_of<Stored>(bound.reads[0]), *kv = data_of<Stored>(bound.reads[1]),
               *shared = data_of<Stored>(bound.reads[2]);
  Stored* qkv = data_of<Stored>(to);
  launch_joined<Stored>(
      exec, to, columns, {q, kv, shared, qkv}, [=](auto pack, const JoinedColumns& in_packs) {
        return JoinHeadsBody<Stored, decltype(pack)::value>{q, kv, shared, qkv, in_packs};
      });
}

template <class Stored, class Exec>
void launch(Exec& exec, const JoinHeadsGradient& op, const BoundOp& bound) {
  const View& from = bound.reads[0];
  const JoinedColumns columns = joined_columns(op.heads, op.key_value_heads, bound.writes[0],
                                               bound.writes[1], bound.writes[2], from);
  const Stored* qkv = data_of<Stored>(from);
  Stored *q = data_of<Stored>(bound.writes[0]), *kv = data_of<Stored>(bound.writes[1]),
         *shared = data_of<Stored>(bound.writes[2]);
  launch_joined<Stored>(
      exec, from, columns, {q, kv, shared, qkv}, [=](auto pack, const JoinedColumns& in_packs) {
        return JoinHeadsGradientBody<Stored, decltype(pack)::value>{qkv, q, kv, shared, in_packs};
      });
}

}  // namespace moe
