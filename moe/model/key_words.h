#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "moe/model/model.h"

namespace moe {

/// The names of the values of an enumeration in model files, in its order.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kWordsOf{};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Optimizer>{"adam", "adamw", "sgd"};
template <>
inline constexpr std::array<std::string_view, 4> kWordsOf<RateSchedule>{
    "constant", "linear", "cosine", "inverse_square_root"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<DType>{"f32", "f64", "bf16"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Norm>{"layer_norm", "rms_norm"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<QueryKeyNorms>{"none", "head", "all"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Positions>{"learned", "rotary"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Head>{"untied", "tied"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<Activation>{"gelu", "relu"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<BatchPer>{"rank", "tp_group"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<ExchangedRows>{"irregular", "padded"};
template <>
inline constexpr std::array<std::string_view, 2> kWordsOf<WeightGradientTime>{"beside_return",
                                                                              "before_return"};
template <>
inline constexpr std::array<std::string_view, 3> kWordsOf<Drop>{kDropNames};

template <class Enum>
std::vector<std::string_view> words_of_enum() {
  return {kWordsOf<Enum>.begin(), kWordsOf<Enum>.end()};
}

}  // namespace moe
