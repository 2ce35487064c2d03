#include "moe/train/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>

#include "moe/errors.h"

namespace moe {
namespace {

/// A stream of zlib that reads gzip.
class Inflating {
 public:
  Inflating() {
    constexpr int kLargestWindow = 15, kGzip = 16;
    if (inflateInit2(&stream_, kLargestWindow + kGzip) != Z_OK) throw std::bad_alloc();
  }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;
  ~Inflating() { inflateEnd(&stream_); }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

[[noreturn]] void refuse_packed(const std::filesystem::path& path, std::string_view why) {
  throw InputError(fmt::format("{}: {}", path.string(), why));
}

}  // namespace

std::vector<std::byte> unpacked(const std::filesystem::path& path,
                                std::span<const std::byte> packed) {
  constexpr std::size_t kRoom = std::size_t{1} << 20, kMostAtOnce = std::size_t{1} << 30;
  Inflating inflating;
  z_stream& stream = inflating.stream();
  std::vector<std::byte> content;
  std::size_t taken = 0, written = 0;
  int state = Z_OK;
  while (taken < packed.size() || state != Z_STREAM_END) {
    if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK) throw std::bad_alloc();
    if (written == content.size()) content.resize(std::max(kRoom, 2 * written));
    const std::size_t input = std::min(packed.size() - taken, kMostAtOnce),
                      output = std::min(content.size() - written, kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
    stream.avail_out = static_cast<uInt>(output);
    state = inflate(&stream, Z_NO_FLUSH);
    taken += input - stream.avail_in;
    written += output - stream.avail_out;
    if (state == Z_BUF_ERROR && taken == packed.size()) {
      refuse_packed(path, fmt::format("{} bytes: is cut short, after {} bytes of its content",
                                      packed.size(), written));
    }
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
      refuse_packed(path, fmt::format("is damaged at byte {}: {}", taken,
                                      stream.msg != nullptr ? stream.msg : "no gzip"));
    }
    if (written > static_cast<std::size_t>(kMostUnpackedBytes)) {
      refuse_packed(path, fmt::format("unpacks to more than {} bytes, which every rank would hold: "
                                      "expected it unpacked: gunzip -k FILE",
                                      kMostUnpackedBytes));
    }
  }
  content.resize(written);
  content.shrink_to_fit();
  return content;
}

}  // namespace moe
