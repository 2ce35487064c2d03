#pragma once

#include <stdexcept>
#include <string>

#include "moe/kernels/device.h"
#include "moe/kernels/math.h"
#include "moe/kernels/view.h"

namespace moe {

/// Where the columns of heads are: in kv [N keys, V values] a head, in qkv as attention reads them.
struct JoinedColumns {
  std::int64_t queries;  ///< columns of q
  std::int32_t heads;    ///< of k and v
  std::int32_t width, shared, values;

  std::int64_t of_kv() const { return std::int64_t{heads} * (width - shared + values); }
  std::int64_t of_qkv() const { return queries + std::int64_t{heads} * (width + values); }

  static JoinedColumns of(std::int64_t heads, std::int64_t key_value_heads, const View& q,
                          const View& kv, const View& shared, const View& qkv) {
    const bool divide = heads > 0 && key_value_heads > 0 && q.columns % heads == 0 &&
                        kv.columns % key_value_heads == 0;
    const std::int64_t width = divide ? q.columns / heads : 0;
    const std::int64_t of_kv = divide ? kv.columns / key_value_heads : 0;
    const std::int64_t values = of_kv - (width - shared.columns);
    const JoinedColumns joined{
        q.columns, static_cast<std::int32_t>(key_value_heads), static_cast<std::int32_t>(width),
        static_cast<std::int32_t>(shared.columns), static_cast<std::int32_t>(values)};
    if (divide && shared.columns <= width && values > 0 && joined.of_qkv() == qkv.columns) {
      return joined;
    }
    throw std::logic_error("join_heads: " + std::to_string(q.columns) + " columns of " +
                           std::to_string(heads) + " heads, " + std::to_string(kv.columns) +
                           " of " + std::to_string(key_value_heads) + " heads of keys and " +
                           "values, and " + std::to_string(shared.columns) + " for all make not " +
                           std::to_string(qkv.columns));
  }
};

/// A team per token.
template <class Stored>
struct JoinHeadsBody {
  static constexpr bool kWideRows = true;
  const Stored* q;
  const Stored* kv;
  const Stored* shared_key;
  Stored* qkv;
  JoinedColumns columns;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const std::int32_t heads = columns.heads, width = columns.width, shared = columns.shared,
                       values = columns.values, unshared = width - shared,
                       of_head = unshared + values;
    const std::int64_t queries = columns.queries;
    const Stored* of_queries = q + token * queries;
    const Stored* of_heads = kv + token * heads * of_head;
    const Stored* of_all = shared_key + token * shared;
    Stored* out = qkv + token * (queries + std::int64_t{heads} * (width + values));
    team.map(
        queries, out, [](Stored value) { return value; }, of_queries);
    Stored* keys = out + queries;
    team.for_each(std::int64_t{heads} * width, [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / width, column = c % width;
      keys[c] = column < shared ? of_all[column] : of_heads[head * of_head + column - shared];
    });
    Stored* out_values = keys + std::int64_t{heads} * width;
    team.for_each(std::int64_t{heads} * values, [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / values, column = c % values;
      out_values[c] = of_heads[head * of_head + unshared + column];
    });
  }
};

/// A team per token.
template <class Stored>
struct JoinHeadsGradientBody {
  static constexpr bool kWideRows = true;
  const Stored* d_qkv;
  Stored* d_q;
  Stored* d_kv;
  Stored* d_shared_key;
  JoinedColumns columns;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t token) const {
    const std::int32_t heads = columns.heads, width = columns.width, shared = columns.shared,
                       values = columns.values, unshared = width - shared,
                       of_head = unshared + values;
    const std::int64_t queries = columns.queries;
    const Stored* in = d_qkv + token * (queries + std::int64_t{heads} * (width + values));
    Stored* of_queries = d_q + token * queries;
    Stored* of_heads = d_kv + token * heads * of_head;
    Stored* of_all = d_shared_key + token * shared;
    team.map(
        queries, of_queries, [](Stored value) { return value; }, in);
    const Stored* keys = in + queries;
    const Stored* in_values = keys + std::int64_t{heads} * width;
    team.for_each(std::int64_t{heads} * of_head, [=](std::int64_t i) {
      const auto c = static_cast<std::int32_t>(i);
      const std::int32_t head = c / of_head, column = c % of_head;
      of_heads[c] = column < unshared ? keys[head * width + shared + column]
                                      : in_values[head * values + column - unshared];
    });
    team.for_each(shared, [=](std::int64_t c) {
      Wide<Stored> sum = 0;
      for (std::int32_t head = 0; head < heads; ++head) sum += keys[head * width + c];
      of_all[c] = sum;
    });
  }
};

template <class Stored, class Exec>
void launch(Exec& exec, const JoinHeads& op, const BoundOp& bound) {
  const View &q = bound.reads[0], &kv = bound.reads[1], &shared = bound.reads[2],
             &qkv = bound.writes[0];
  exec.rows(
      qkv.rows, qkv.columns,
      JoinHeadsBody<Stored>{data_of<Stored>(q), data_of<Stored>(kv), data_of<Stored>(shared),
                            data_of<Stored>(qkv),
                            JoinedColumns::of(op.heads, op.key_value_heads, q, kv, shared, qkv)});
}

template <class Stored, class Exec>
void launch(Exec& exec, const JoinHeadsGradient& op, const BoundOp& bound) {
  const View &qkv = bound.reads[0], &q = bound.writes[0], &kv = bound.writes[1],
             &shared = bound.writes[2];
  exec.rows(
      qkv.rows, qkv.columns,
      JoinHeadsGradientBody<Stored>{
          data_of<Stored>(qkv), data_of<Stored>(q), data_of<Stored>(kv), data_of<Stored>(shared),
          JoinedColumns::of(op.heads, op.key_value_heads, q, kv, shared, qkv)});
}

}  // namespace moe
