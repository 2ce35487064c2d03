#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moe/backend/backend.h"

namespace moe::test {

/// A processor that notes what memory it is asked for, and what is copied to and from its arena.
class NotingBackend : public Backend {
 public:
  std::vector<std::int64_t> arenas;  ///< sizes asked for
  std::vector<std::int64_t> blocks;  ///< of the host's memory, as it is
  std::int64_t up_bytes = 0, down_bytes = 0;

  std::string name() const override { return processor_->name(); }
  std::byte* arena(std::int64_t bytes) override {
    arenas.push_back(bytes);
    return processor_->arena(bytes);
  }
  std::byte* host_block(std::int64_t bytes) override {
    blocks.push_back(bytes);
    return processor_->host_block(bytes);
  }
  void free_host_blocks() override {
    blocks.clear();
    processor_->free_host_blocks();
  }
  void post(std::byte* to, std::span<const std::byte> from, Stream stream) override {
    up_bytes += static_cast<std::int64_t>(from.size());
    processor_->post(to, from, stream);
  }
  void download_all(std::span<const HostCopy> copies, Stream stream) override {
    for (const HostCopy& copy : copies) down_bytes += static_cast<std::int64_t>(copy.host.size());
    processor_->download_all(copies, stream);
  }
  void fill(const View& tensor, const InitialValues& values) override {
    processor_->fill(tensor, values);
  }
  void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) override {
    processor_->lay_pattern(arena, begin, end);
  }
  std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                              std::int64_t end) override {
    return processor_->end_of_pattern(arena, begin, end);
  }
  void execute_together(std::span<const BoundOp* const> ops) override {
    processor_->execute_together(ops);
  }
  Mark record(Stream stream, bool timed) override { return processor_->record(stream, timed); }
  void wait(Stream stream, Mark mark) override { processor_->wait(stream, mark); }
  double time_of(Mark mark) override { return processor_->time_of(mark); }
  void forget_marks() override { processor_->forget_marks(); }

 private:
  std::unique_ptr<Backend> processor_ = make_cpu_backend(1);
};

}  // namespace moe::test
