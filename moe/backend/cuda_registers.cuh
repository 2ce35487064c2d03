#pragma once

/// Bodies whose threads need more registers than nvcc gives them. It prefers more blocks at a time
/// to registers and has these spill; tests/cuda_spills says which do.
namespace moe {

template <class Stored, int capacity>
struct AdamBody;
template <class Real>
struct ChooseTokensBody;
template <class Stored>
struct CombineBody;
template <class Stored>
struct CombineInputGradientBody;
template <class Stored>
struct CrossEntropyGradientBody;
template <class Curve, class Stored>
struct CurveGradient;
template <class Curve, class Stored>
struct CurveValue;
template <class To, class Table>
struct FillRowsBody;
template <class Stored>
struct GatedSiluValue;
template <class Real>
struct KeepBestGroupsBody;
template <class Stored>
struct LayerNormInputGradientBody;
template <class Real>
struct LoadBalancingLossGradientBody;
template <class Stored>
struct PermuteBody;
template <class Stored>
struct PermuteGradientBody;
template <class Stored>
struct PositionTableGradientBody;
template <class Stored, class Norm>
struct ResidualNormBody;
template <class Stored>
struct RotaryBody;
template <class Real>
struct RouterZLossGradientBody;
template <class Stored>
struct ScaleRowsBody;
template <class Stored, int capacity>
struct SgdBody;
template <class Real>
struct SoftmaxGateGradientBody;

template <class Body>
inline constexpr bool kManyRegisters = false;
template <class Real>
inline constexpr bool kManyRegisters<ChooseTokensBody<Real>> = true;
template <>
inline constexpr bool kManyRegisters<CrossEntropyGradientBody<double>> = true;
template <class Curve>
inline constexpr bool kManyRegisters<CurveGradient<Curve, double>> = true;
template <class Curve>
inline constexpr bool kManyRegisters<CurveValue<Curve, double>> = true;
template <>
inline constexpr bool kManyRegisters<GatedSiluValue<double>> = true;
template <>
inline constexpr bool kManyRegisters<LoadBalancingLossGradientBody<double>> = true;
template <class Stored>
inline constexpr bool kManyRegisters<PermuteBody<Stored>> = true;
template <>
inline constexpr bool kManyRegisters<PositionTableGradientBody<double>> = true;
template <class Norm>
inline constexpr bool kManyRegisters<ResidualNormBody<float, Norm>> = true;
template <class Stored>
inline constexpr bool kManyRegisters<RotaryBody<Stored>> = true;
template <>
inline constexpr bool kManyRegisters<RouterZLossGradientBody<double>> = true;
template <>
inline constexpr bool kManyRegisters<SoftmaxGateGradientBody<double>> = true;
template <>
inline constexpr bool kManyRegisters<CombineInputGradientBody<float>> = true;
template <class To, class Table>
inline constexpr bool kManyRegisters<FillRowsBody<To, Table>> = true;
template <class Real>
inline constexpr bool kManyRegisters<KeepBestGroupsBody<Real>> = true;
template <class Norm>
inline constexpr bool kManyRegisters<ResidualNormBody<double, Norm>> = true;
template <>
inline constexpr bool kManyRegisters<ScaleRowsBody<double>> = true;
template <int capacity>
inline constexpr bool kManyRegisters<SgdBody<double, capacity>> = true;

/// Bodies that spill with 64 registers a thread, too.
template <class Body>
inline constexpr bool kMostRegisters = false;
template <int capacity>
inline constexpr bool kMostRegisters<AdamBody<float, capacity>> = true;
template <class Stored>
inline constexpr bool kMostRegisters<CombineBody<Stored>> = true;
template <>
inline constexpr bool kMostRegisters<LayerNormInputGradientBody<double>> = true;
template <class Stored>
inline constexpr bool kMostRegisters<PermuteGradientBody<Stored>> = true;

/// The blocks of `threads` that a multiprocessor has at a time, at least: half of the threads that
/// fit, with 64 registers each, a quarter, with 128, or as many as the body says. 0 leaves the choice
/// to nvcc.
template <class Body>
constexpr int least_blocks(int threads) {
  if constexpr (requires { Body::kLeastThreads; }) {
    return Body::kLeastThreads / threads;
  } else {
    return kManyRegisters<Body> ? 1024 / threads : kMostRegisters<Body> ? 512 / threads : 0;
  }
}

}  // namespace moe
