#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "microbench/bench.h"
#include "microbench/collectives/collectives.h"

namespace microbench {

/// Who sends how much to whom in an all-to-all-v.
struct ExchangeMatrix {
  std::string name;                         ///< as the user wrote it: "zipf:1.2", "loads.json"
  std::vector<std::vector<double>> weight;  ///< [from][to], in any unit
};

/// Throws moe::InputError unless `routing` is "uniform", "zipf:EXPONENT" or a file that rank 0 can
/// read.
void check_exchange(const std::string& routing);

/// The matrix of a routing among `ranks` ranks:
///   - "uniform", "zipf:1.2": of kExchangeExperts experts, or one a rank where ranks are more, whose
///     popularity falls as 1 / place^1.2, with neighbouring experts on a rank (zipf_routing);
///   - `text` of a file of moe-tune's --routing: the first layer and micro-batch in it, experts
///     divided among the ranks as trained;
///   - `text` of a byte matrix: a line of numbers for each sender, with commas or blanks between.
/// Throws moe::InputError naming `routing` where the file is of other ranks or does not divide.
ExchangeMatrix exchange_matrix(const std::string& routing, std::string_view text, int ranks);

/// The same on every rank of the bench: rank 0 reads the file.
ExchangeMatrix exchange_matrix(const Bench& bench, const std::string& routing);

/// all_to_all_v with these shares, where S is what the busiest rank receives, itself included. Every
/// share is rounded to whole elements.
MeasuredCollective routed_all_to_all_v(const ExchangeMatrix& exchange);

inline constexpr int kExchangeExperts = 64;

}  // namespace microbench
