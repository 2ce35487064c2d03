#pragma once

#include <fmt/format.h>

#include <stdexcept>

/// MPMoE's equations, in its symbols: B tokens of a rank, M = d_model, H = d_hidden, E experts, n
/// partitions (chunks). The paper counts elements of tensors, and so do these. Each rank has one
/// expert and each token one copy: B rows everywhere.
namespace tuner::mpmoe {

struct Sizes {
  double B = 0, M = 0, H = 0, E = 0;
};

/// Model states with Adam: parameters, gradients and two moments of the gate and of an expert.
///   M_ms = 4 (E M + 2 H M)                                               [Eq. 1, printed]
inline double model_states(const Sizes& s) { return 4 * (s.E * s.M + 2 * s.H * s.M); }
/// Activations T_I, T_DI, T_DO, T_O of B x M, and T_M of B x H.
///   M_act = 4 B M + B H                                                  [Eq. 2, printed]
inline double activations(const Sizes& s) { return 4 * s.B * s.M + s.B * s.H; }
/// Buffers of backward without a pipeline: two tensors that are neighbours.
///   M_buf = B M + B H                                                    [Eq. 3, printed]
inline double buffers(const Sizes& s) { return s.B * s.M + s.B * s.H; }
/// The same in a pipeline: every partition of every gradient.
///   M_buf^pipe = M_act^pipe = 4 B M + B H                                [Eq. 4, printed]
inline double pipelined(const Sizes& s) { return activations(s); }
/// The saving of partitions that share memory, once for activations and once for buffers: T_DI and
/// T_DO keep two of n partitions each, T_M one.
///   delta_act = delta_buf = B (2 M (n-2)/n + H (n-1)/n)                   [Eq. 5, printed]
/// For n = 1 the printed equation is negative; two buffers are no more than one there, so it is 0.
/// Throws std::invalid_argument if n < 1.
inline double saved(const Sizes& s, int n) {
  if (n < 1) throw std::invalid_argument(fmt::format("mpmoe: {} partitions", n));
  if (n == 1) return 0;
  return s.B * (2 * s.M * (n - 2) / n + s.H * (n - 1) / n);
}
/// The share that is saved.
///   phi = (delta_act + delta_buf) / (M_ms + M_act^pipe + M_buf^pipe)      [Eq. 6, printed]
inline double saving_ratio(const Sizes& s, int n) {
  return 2 * saved(s, n) / (model_states(s) + 2 * pipelined(s));
}

}  // namespace tuner::mpmoe
