// Memory and time of attention that keeps the log of the sum of exponentials of each query, beside
// attention that stores its probabilities, on one thread of a processor.
//
//   attention_bench [--lengths 256,1024,4096] [--heads N] [--key-value-heads N] [--head-width N]
//                   [--dtype f32|bf16] [--repeats N]
//
// The two take turns, so that both see the same machine; times are medians over the repeats, and
// the ratio is the median of the ratios of a turn. Every length has the same number of tokens, that
// of the longest. "kept" lives from forward to backward, "scratch" during the op.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/kernels/view.h"
#include "tests/moe/kernels/stored_attention.h"

namespace moe::test {
namespace {

struct Sizes {
  std::vector<std::int64_t> lengths{256, 1024, 4096};
  int heads = 8, key_value_heads = 2, head_width = 64, repeats = 5;
  std::string dtype = "f32";
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
double seconds_of(F f) {
  const double begin_s = now_s();
  f();
  return now_s() - begin_s;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The ops of moe/kernels on tensors of their own.
template <class Stored>
class Tiled {
 public:
  using Real = Wide<Stored>;

  Tiled(const Sizes& sizes, std::int64_t length, std::int64_t tokens)
      : attention_{sizes.heads, length, sizes.key_value_heads},
        gradient_{sizes.heads, length, sizes.key_value_heads},
        columns_((sizes.heads + 2 * sizes.key_value_heads) * std::int64_t{sizes.head_width}),
        width_(sizes.heads * std::int64_t{sizes.head_width}),
        tokens_(tokens),
        statistics_(static_cast<std::size_t>(tokens * sizes.heads)) {
    const auto elements = [&](bool gradient) {
      return AttentionScratch::of(kCpuAttentionTile, length, {sizes.head_width},
                                  !std::is_same_v<Stored, Real>, gradient)
          .elements;
    };
    scratch_.resize(static_cast<std::size_t>(sizes.key_value_heads * elements(true)));
  }

  std::int64_t kept_bytes() const {
    return static_cast<std::int64_t>(statistics_.size() * sizeof(Real));
  }
  std::int64_t scratch_bytes() const {
    return static_cast<std::int64_t>(scratch_.size() * sizeof(Real));
  }

  void forward(std::vector<Stored>& qkv, std::vector<Stored>& y) {
    run(attention_, {view(qkv, columns_)}, {view(y, width_), statistics(), scratch()});
  }
  void backward(std::vector<Stored>& dy, std::vector<Stored>& qkv, std::vector<Stored>& y,
                std::vector<Stored>& d_qkv) {
    run(gradient_, {view(dy, width_), view(qkv, columns_), view(y, width_), statistics()},
        {view(d_qkv, columns_), scratch()});
  }

 private:
  View view(std::vector<Stored>& values, std::int64_t columns) const {
    return {values.data(), dtype_of<Stored>(), tokens_, columns};
  }
  View statistics() { return {statistics_.data(), dtype_of<Real>(), tokens_, attention_.heads}; }
  View scratch() {
    const std::int64_t heads = attention_.key_value_heads;
    return {scratch_.data(), dtype_of<Real>(), heads,
            static_cast<std::int64_t>(scratch_.size()) / heads};
  }
  void run(const OpKind& kind, std::vector<View> reads, std::vector<View> writes) {
    const Op op{kind, {}, {}, "attention"};
    backend_->execute({&op, std::move(reads), std::move(writes), {{0, tokens_}}});
  }

  Attention attention_;
  AttentionGradient gradient_;
  std::int64_t columns_, width_, tokens_;
  std::vector<Real> statistics_, scratch_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
};

template <class Stored>
std::vector<Stored> pattern(std::int64_t count) {
  std::vector<Stored> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 2654435761U % 1024) / 512.0f - 1.0f;
  }
  return values;
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

template <class Stored>
void measure(const Sizes& sizes, std::int64_t length, std::int64_t tokens) {
  const std::int64_t columns = (sizes.heads + 2 * sizes.key_value_heads) * sizes.head_width;
  const std::int64_t width = sizes.heads * sizes.head_width;
  auto qkv = pattern<Stored>(tokens * columns), d_qkv = pattern<Stored>(tokens * columns);
  auto y = pattern<Stored>(tokens * width), dy = pattern<Stored>(tokens * width);
  StoredAttention<Stored> stored(tokens / length, length, sizes.heads, sizes.key_value_heads,
                                 sizes.head_width);
  Tiled<Stored> tiled(sizes, length, tokens);

  std::vector<double> times[4], ratios[2];
  for (int repeat = 0; repeat <= sizes.repeats; ++repeat) {
    const double turn[4] = {seconds_of([&] { stored.forward(qkv.data(), y.data()); }),
                            seconds_of([&] { tiled.forward(qkv, y); }), seconds_of([&] {
                              stored.backward(dy.data(), qkv.data(), d_qkv.data());
                            }),
                            seconds_of([&] { tiled.backward(dy, qkv, y, d_qkv); })};
    if (repeat == 0) continue;  // takes pages, and packs
    for (int i = 0; i < 4; ++i) times[i].push_back(turn[i]);
    for (int i = 0; i < 2; ++i) ratios[i].push_back(turn[2 * i + 1] / turn[2 * i]);
  }
  fmt::print("{:>6}  {:>10.2f} {:>10.2f}  {:>10.2f} {:>10.2f}  {:>8.2f} {:>8.2f} {:>6.2f}", length,
             mebibytes(stored.kept_bytes()), mebibytes(tiled.kept_bytes()),
             mebibytes(stored.scratch_bytes()), mebibytes(tiled.scratch_bytes()),
             1e3 * median(times[0]), 1e3 * median(times[1]), median(ratios[0]));
  fmt::print("  {:>8.2f} {:>8.2f} {:>6.2f}\n", 1e3 * median(times[2]), 1e3 * median(times[3]),
             median(ratios[1]));
}

void measure_all(const Sizes& sizes) {
  fmt::print("{} tokens, {} heads over {} of width {}, {}, {}\n",
             *std::max_element(sizes.lengths.begin(), sizes.lengths.end()), sizes.heads,
             sizes.key_value_heads, sizes.head_width, sizes.dtype, make_cpu_backend(1)->name());
  fmt::print("{:>6}  {:>21}  {:>21}  {:>24}  {:>24}\n", "", "kept MiB", "scratch MiB", "forward ms",
             "backward ms");
  fmt::print("{:>6}  {:>10} {:>10}  {:>10} {:>10}  {:>8} {:>8} {:>6}  {:>8} {:>8} {:>6}\n",
             "length", "stored", "tiled", "stored", "tiled", "stored", "tiled", "ratio", "stored",
             "tiled", "ratio");
  const std::int64_t longest = *std::max_element(sizes.lengths.begin(), sizes.lengths.end());
  for (const std::int64_t length : sizes.lengths) {
    const std::int64_t tokens = longest / length * length;
    if (sizes.dtype == "bf16") {
      measure<Bf16>(sizes, length, tokens);
    } else {
      measure<float>(sizes, length, tokens);
    }
  }
}

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> result;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) result.push_back(std::stoll(part));
  return result;
}

/// False where an option is not known or its value does not fit.
bool read(const std::string& name, const std::string& value, Sizes& sizes) {
  if (name == "--lengths") {
    sizes.lengths = numbers(value);
    return !sizes.lengths.empty() &&
           *std::min_element(sizes.lengths.begin(), sizes.lengths.end()) > 0;
  }
  if (name == "--dtype") {
    sizes.dtype = value;
    return value == "f32" || value == "bf16";
  }
  int* number = name == "--heads"             ? &sizes.heads
                : name == "--key-value-heads" ? &sizes.key_value_heads
                : name == "--head-width"      ? &sizes.head_width
                : name == "--repeats"         ? &sizes.repeats
                                              : nullptr;
  if (number == nullptr) return false;
  *number = std::stoi(value);
  return *number > 0;
}

}  // namespace
}  // namespace moe::test

int main(int argc, char** argv) try {
  moe::test::Sizes sizes;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || !moe::test::read(argv[i], argv[i + 1], sizes)) {
      fmt::print(stderr,
                 "attention_bench: {}: expected --lengths A,B, --heads N, --key-value-heads N, "
                 "--head-width N, --dtype f32|bf16 or --repeats N\n",
                 argv[i]);
      return 2;
    }
  }
  if (sizes.heads % sizes.key_value_heads != 0) {
    fmt::print(stderr, "attention_bench: {} heads do not divide by {} of keys and values\n",
               sizes.heads, sizes.key_value_heads);
    return 2;
  }
  moe::test::measure_all(sizes);
} catch (const std::exception& error) {
  fmt::print(stderr, "attention_bench: {}\n", error.what());
  return 1;
}
