#include "moe/train/checkpoint/checkpoints.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "db/console/output_error.h"
#include "moe/communicator/announced_work.h"
#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/model/capacity_groups.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/folder_trial.h"

namespace moe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotWritten = 1, kWrongFolder = 2;  // exit codes

double seconds_since_begin(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// True where a number has all bits of the exponent: it is infinite or not a number.
template <class Bits>
bool has_exponent(std::span<const std::byte> bytes, Bits exponent) {
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return true;
  }
  return false;
}

/// A checkpoint of parameters that are lost must not take the place of a good one.
void expect_finite(const StoredTensor& tensor) {
  const bool is_lost =
      (tensor.dtype == "F32" && has_exponent<std::uint32_t>(tensor.bytes, 0x7f800000)) ||
      (tensor.dtype == "F64" && has_exponent<std::uint64_t>(tensor.bytes, 0x7ff0000000000000)) ||
      (tensor.dtype == "BF16" && has_exponent<std::uint16_t>(tensor.bytes, 0x7f80));
  if (is_lost) {
    throw std::runtime_error(fmt::format("tensor {}: has a value that is not finite", tensor.name));
  }
}

/// What a rank tells of its file once it is written, or why it is not.
std::string write_shard(const std::filesystem::path& folder, int rank, const Collected& collected) {
  nlohmann::json told;
  try {
    for (const StoredTensor& tensor : collected.tensors) expect_finite(tensor);
    const FileSeal seal = write_safetensors(folder / shard_file(rank), collected.tensors);
    told["bytes"] = seal.bytes;
    told["header_checksum"] = seal.header_checksum;
    told["names"] = nlohmann::json::array();
    for (const StoredTensor& tensor : collected.tensors) told["names"].push_back(tensor.name);
  } catch (const std::exception& error) {
    told["error"] = error.what();
  }
  return told.dump();
}

/// Whether something could be done on a rank.
struct Try {
  std::string error;
  int code = 0;  ///< the exit code that the error means; 0 where there is none
};

/// Names of files may be bytes that are no text.
std::string to_text(const Try& one) {
  return nlohmann::json{one.error, one.code}.dump(-1, ' ', false,
                                                  nlohmann::json::error_handler_t::replace);
}

Try try_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at(0).get<std::string>(), json.at(1).get<int>()};
}

Try attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const db::OutputError& failure) {
    return {failure.what(), failure.exit_code};
  } catch (const std::exception& failure) {
    return {failure.what(), kWrongFolder};
  }
}

}  // namespace

struct Checkpoints::UnderWay {
  CheckpointIndex index;
  Clock::time_point begin;
  double stopped_s = 0;
  std::future<std::string> writing;  ///< what this rank will tell
};

Checkpoints::Checkpoints(CheckpointOptions options, const Groups& groups, Communicator& world,
                         double time_limit_s, CheckpointObserver observer)
    : options_(std::move(options)),
      world_(world),
      time_limit_s_(time_limit_s),
      collector_(groups, world, time_limit_s),
      observer_(std::move(observer)) {
  Model& model = options_.about.model;
  if (routes_by_groups(model)) model.capacity_groups = capacity_groups(model, groups.layout);
  prepare();
}

Checkpoints::~Checkpoints() = default;  // waits for the thread

void Checkpoints::prepare() {
  constexpr const char* what = "preparing of a folder for checkpoints";
  const auto agree_that_it_works = [&](const Try& mine) {
    for (const std::string& one : told(to_text(mine), what)) {
      if (const Try failed = try_from(one); failed.code != 0) {
        throw CheckpointError(failed.error, failed.code);
      }
    }
  };
  std::optional<FolderTrial> trial;
  agree_that_it_works(attempt([&] {
    if (world_.rank != 0) return;
    const AnnouncedWork preparing("prepares " + options_.directory.string());
    expect_no_unfinished_import(options_.directory);
    lock_ = prepare_folder(options_.directory, options_.goes_on_from);
    trial.emplace(options_.directory);
  }));
  const std::filesystem::path folder = told(trial ? trial->folder().string() : "", what).front();
  agree_that_it_works(attempt([&] {
    const AnnouncedWork trying("tries to write into " + options_.directory.string());
    write_trial(folder / shard_file(world_.rank));
  }));
}

std::vector<std::string> Checkpoints::told(const std::string& mine, const char* what) const {
  CallContext call;
  call.time_limit_s = time_limit_s_;
  call.what = what;
  return gather_texts(world_, mine, call);
}

void Checkpoints::fail(const std::string& why) const {
  const std::vector<int> complete = checkpoints_in(options_.directory);
  if (!complete.empty() && complete.back() == under_way_->index.iteration) {
    throw CheckpointError(
        fmt::format("the checkpoint of iteration {} is there, but may not be on the disk yet: {}",
                    complete.back(), why),
        kNotWritten);
  }
  const std::string stands =
      complete.empty() ? std::string()
                       : fmt::format("; the one of iteration {} is complete", complete.back());
  throw CheckpointError(fmt::format("the checkpoint of iteration {} is not written: {}{}",
                                    under_way_->index.iteration, why, stands),
                        kNotWritten);
}

void Checkpoints::after(int iteration, bool is_last, const Runner& runner, const Schedule& schedule,
                        const std::vector<SourceCursor>& cursors, const OutlierHistory& outliers) {
  const bool is_due = is_last || (options_.every > 0 && iteration % options_.every == 0);
  if (under_way_) look_after(is_due);
  if (!is_due) return;
  begin(iteration, runner, schedule, cursors, outliers);
  if (is_last) look_after(true);
}

void Checkpoints::begin(int iteration, const Runner& runner, const Schedule& schedule,
                        const std::vector<SourceCursor>& cursors, const OutlierHistory& outliers) {
  under_way_ = std::make_unique<UnderWay>();
  under_way_->begin = Clock::now();
  under_way_->index = options_.about;
  under_way_->index.iteration = iteration;
  under_way_->index.schedule = schedule;
  under_way_->index.cursors = cursors;
  under_way_->index.outliers = outliers;
  const auto folder = partial_folder(options_.directory, iteration);
  std::string error;
  try {
    if (world_.rank == 0) {
      observer_.begun(under_way_->index);
      const AnnouncedWork making("makes " + folder.string());
      std::filesystem::remove_all(folder);
      std::error_code failed;
      const bool is_made = std::filesystem::create_directory(folder, failed);
      if (failed) throw std::runtime_error(folder.string() + ": " + failed.message());
      if (!is_made) throw std::runtime_error(folder.string() + ": another process has made it");
    }
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  const std::string why = told(error, "making of a folder for a checkpoint").front();
  if (!why.empty()) fail(why);
  Collected collected = collector_.collect(runner);
  under_way_->stopped_s = seconds_since_begin(under_way_->begin);
  under_way_->writing =
      std::async(std::launch::async, [folder, rank = world_.rank, held = std::move(collected)] {
        return write_shard(folder, rank, held);
      });
}

void Checkpoints::look_after(bool waits) {
  if (waits) {
    const AnnouncedWork writing(fmt::format("writes its file of the checkpoint of iteration {}",
                                            under_way_->index.iteration));
    under_way_->writing.wait();
  }
  const bool is_written =
      under_way_->writing.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  const auto all = told(is_written ? "written" : "", "writing of a checkpoint");
  if (std::ranges::find(all, "") != all.end()) return;
  complete_checkpoint(told(under_way_->writing.get(), "writing of a checkpoint"));
}

void Checkpoints::complete_checkpoint(const std::vector<std::string>& told_by_ranks) {
  std::string error;
  CheckpointIndex& index = under_way_->index;
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < told_by_ranks.size(); ++rank) {
    const auto one = nlohmann::json::parse(told_by_ranks[rank]);
    if (one.contains("error")) {
      if (error.empty()) error = one["error"].get<std::string>();
      continue;
    }
    const std::string file = shard_file(static_cast<int>(rank));
    index.files[file] = {one["bytes"].get<std::int64_t>(),
                         one["header_checksum"].get<std::string>()};
    bytes += index.files[file].bytes;
    for (const auto& name : one["names"]) index.file_of[name.get<std::string>()] = file;
  }
  if (world_.rank == 0) {
    const AnnouncedWork completing(
        fmt::format("completes the checkpoint of iteration {}", index.iteration));
    try {
      if (error.empty()) {
        observer_.completing();
        complete(options_.directory, index, partial_folder(options_.directory, index.iteration));
      } else {
        std::filesystem::remove_all(partial_folder(options_.directory, index.iteration));
      }
    } catch (const std::exception& failure) {
      error = failure.what();
    }
  }
  error = told(error, "completing of a checkpoint").front();
  if (!error.empty()) fail(error);
  if (world_.rank == 0) {
    const AnnouncedWork removing("removes older checkpoints");
    try {
      remove_older(options_.directory, options_.keep);
    } catch (const std::exception& failure) {
      spdlog::warn("an older checkpoint is not removed: {}", failure.what());
    }
    observer_.completed({index.iteration, checkpoint_folder(options_.directory, index.iteration),
                         bytes, under_way_->stopped_s, seconds_since_begin(under_way_->begin)});
  }
  under_way_.reset();
}

}  // namespace moe
