#include "moe/train/masters.h"

#include <cstring>

#include "moe/kernels/bf16.h"

namespace moe {
namespace {

template <class T>
T element(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.subspan(i * sizeof(T)).data(), sizeof(T));
  return value;
}

template <class T>
void put_element(std::span<std::byte> bytes, std::size_t i, T value) {
  std::memcpy(bytes.subspan(i * sizeof(T)).data(), &value, sizeof(T));
}

}  // namespace

std::vector<std::byte> masters_of(std::span<const std::byte> values,
                                  std::span<const std::byte> remainders) {
  const std::size_t count = values.size() / sizeof(Bf16);
  std::vector<std::byte> masters(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    put_element(masters, i,
                float_of(element<Bf16>(values, i), element<Bf16Remainder>(remainders, i)));
  }
  return masters;
}

std::vector<std::byte> masters_of(std::span<const std::byte> values) {
  std::vector<std::byte> masters(values.size() / sizeof(Bf16) * sizeof(float));
  for (std::size_t i = 0; i < values.size() / sizeof(Bf16); ++i) {
    put_element(masters, i, static_cast<float>(element<Bf16>(values, i)));
  }
  return masters;
}

std::vector<std::byte> remainders_of(std::span<const std::byte> masters) {
  const std::size_t count = masters.size() / sizeof(float);
  std::vector<std::byte> remainders(count * sizeof(Bf16Remainder));
  for (std::size_t i = 0; i < count; ++i) {
    put_element(remainders, i, Bf16Remainder(element<float>(masters, i)));
  }
  return remainders;
}

std::optional<std::size_t> first_not_rounded(std::span<const std::byte> values,
                                             std::span<const std::byte> masters) {
  for (std::size_t i = 0; i < values.size() / sizeof(Bf16); ++i) {
    if (element<Bf16>(values, i).bits != Bf16(element<float>(masters, i)).bits) return i;
  }
  return std::nullopt;
}

}  // namespace moe
