#include "microbench/pattern.h"

#include "moe/kernels/bf16.h"
#include "moe/kernels/with_type.h"

namespace microbench {
namespace {

template <typename T>
std::vector<T> values(std::int64_t count,
                      const std::function<std::int64_t(std::int64_t)>& element) {
  std::vector<T> result(count);
  for (std::int64_t i = 0; i < count; ++i)
    result[i] = static_cast<T>(static_cast<moe::Wide<T>>(element(i)));
  return result;
}

template <typename T>
void fill_typed(moe::Backend& backend, moe::Stream stream, std::byte* to, std::int64_t count,
                const std::function<std::int64_t(std::int64_t)>& element) {
  const auto host = values<T>(count, element);
  backend.upload(to, std::as_bytes(std::span(host)), stream);
}

template <typename T>
std::int64_t count_typed(moe::Backend& backend, moe::Stream stream, const std::byte* from,
                         std::int64_t count,
                         const std::function<std::int64_t(std::int64_t)>& element) {
  std::vector<T> host(count);
  backend.download(std::as_writable_bytes(std::span(host)), from, stream);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i)
    wrong += host[i] != static_cast<T>(static_cast<moe::Wide<T>>(element(i)));
  return wrong;
}

}  // namespace

std::int64_t addend(moe::DType dtype, int ranks, int rank, std::int64_t i) {
  if (dtype != moe::DType::bf16) return pattern(rank, i);
  constexpr int kLargestExact = 256;
  return pattern(rank, i) % (kLargestExact / ranks + 1);
}

std::int64_t sum_of_addends(moe::DType dtype, int ranks, std::int64_t i) {
  std::int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += addend(dtype, ranks, rank, i);
  return sum;
}

void fill(moe::Backend& backend, moe::Stream stream, std::byte* to, std::int64_t count,
          moe::DType dtype, const std::function<std::int64_t(std::int64_t)>& element) {
  moe::with_type(
      dtype, [&](auto type) { fill_typed<decltype(type)>(backend, stream, to, count, element); });
}

std::int64_t count_wrong(moe::Backend& backend, moe::Stream stream, const std::byte* from,
                         std::int64_t count, moe::DType dtype,
                         const std::function<std::int64_t(std::int64_t)>& element) {
  return moe::with_type(dtype, [&](auto type) {
    return count_typed<decltype(type)>(backend, stream, from, count, element);
  });
}

}  // namespace microbench
