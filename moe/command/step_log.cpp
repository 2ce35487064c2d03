#include "moe/command/step_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "db/console/output_target.h"
#include "db/output_place.h"
#include "db/run_chain.h"
#include "moe/stop.h"
#include "moe/train/checkpoint/checksum.h"

namespace moe {
namespace {

constexpr std::int64_t kLongestLine = 1 << 16;
constexpr std::string_view kBegin = R"({"iteration":)";

std::uint64_t checksum_of_line(std::string_view line) {
  return checksum(std::as_bytes(std::span(line)));
}

/// None where it is no line of a log.
std::optional<int> iteration_of(std::string_view line) {
  if (!line.starts_with(kBegin) || !line.ends_with('}')) return std::nullopt;
  int iteration = 0;
  const auto [after, failed] =
      std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), iteration);
  return failed == std::errc{} && *after == ',' ? std::optional(iteration) : std::nullopt;
}

/// The iterations of the lines of a log, where it is `first` and all that follow. The last line may
/// be cut. None where there are other lines.
std::optional<int> last_of_lines(std::string_view text, int first) {
  int next = first;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      const std::size_t common = std::min(text.size(), kBegin.size());
      return text.substr(0, common) == kBegin.substr(0, common) ? std::optional(next - 1)
                                                                : std::nullopt;
    }
    if (iteration_of(text.substr(0, end)) != next) return std::nullopt;
    ++next;
    text.remove_prefix(end + 1);
  }
  return next - 1;
}

std::filesystem::path note_of_log(const std::filesystem::path& folder) {
  return folder / ".log-begin";
}

}  // namespace

void note_log_begin(const std::filesystem::path& folder, const LogPlace& after_first_line) {
  forget_log_begin(folder);  // it may be a link
  std::ofstream(note_of_log(folder)) << after_first_line.bytes << ' ' << after_first_line.line;
}

std::optional<LogPlace> noted_log_begin(const std::filesystem::path& folder) {
  LogPlace place;
  std::ifstream file(note_of_log(folder));
  return file >> place.bytes >> place.line ? std::optional(place) : std::nullopt;
}

void forget_log_begin(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove(note_of_log(folder), ignored);
}

void refuse_log(const std::string& path, const std::string& database) {
  if (path.empty() || path == "-") return;
  db::refuse_database_as_output(path, database);
  db::refuse_database(path, db::follow_links(path));
}

StepLog::StepLog(const std::string& path, const StepScale& scale, std::optional<LogResumed> resumed,
                 double time_limit_s)
    : path_(path),
      scale_(scale),
      resumed_(std::move(resumed)),
      time_limit_s_(time_limit_s),
      file_(path) {}

void StepLog::expect_in_place() {
  if (file_.is_in_place() || said_renamed_) return;
  spdlog::warn("{}: has another name by now: its lines go on under that name", path_);
  said_renamed_ = true;
}

/// Before the first line: until then another training may have the folder of the checkpoints.
void StepLog::begin() {
  const std::optional<std::int64_t> bytes = file_.bytes();
  const bool is_new = resumed_ && resumed_->iteration == 0 && bytes.value_or(0) == 0;
  if (is_new) resumed_.reset();
  if (!bytes || *bytes == 0) return;
  if (resumed_) cut_repeated();
  // A file that ends within a line, as one does whose disk was full.
  const std::int64_t end = *file_.bytes();
  if (end == 0 && resumed_ && resumed_->iteration == 0) resumed_.reset();  // all of it was cut
  const std::string last = end > 0 ? file_.read(end - 1, 1) : "";
  if (!last.empty() && last != "\n") add("\n");
}

void StepLog::cut_repeated() {
  const std::int64_t bytes = *file_.bytes();
  std::int64_t kept = resumed_->place ? resumed_->place->bytes : 0;
  const auto leave = [&] {
    spdlog::warn(
        "{}: iterations after {} may have lines there already: the first new one has \"resumed\"",
        path_, resumed_->iteration);
  };
  if (!resumed_->place || kept > bytes) return leave();
  const std::int64_t from = std::max<std::int64_t>(0, kept - kLongestLine);
  const std::string before = file_.read(from, kept - from);
  if (before.size() < 2) return leave();
  const std::size_t end = before.rfind('\n', before.size() - 2);
  const std::size_t first = end == std::string::npos ? 0 : end + 1;
  const std::string line = before.substr(first);
  if (checksum_of_line(line) != resumed_->place->line) return leave();
  std::optional<int> stands = iteration_of(std::string_view(line).substr(0, line.size() - 1));
  if (resumed_->iteration == 0) {
    if (stands != 1) return leave();
    stands = 0;
    kept -= static_cast<std::int64_t>(line.size());
  }
  if (!stands) return leave();
  const auto last = last_of_lines(file_.read(kept, bytes - kept), *stands + 1);
  if (!last) return leave();
  if (bytes > kept) file_.cut(kept);
  if (*last > *stands) {
    spdlog::info(
        "{}: the lines of {} are cut: training {}", path_, db::iterations_text(*stands + 1, *last),
        resumed_->iteration == 0 ? "begins anew"
                                 : fmt::format("goes on from iteration {}", resumed_->iteration));
  }
  if (*stands < resumed_->iteration) {
    spdlog::warn("{}: has no lines of {}", path_,
                 db::iterations_text(*stands + 1, resumed_->iteration));
  }
}

void StepLog::add(const std::string& text) {
  file_.write(text, [this](double waited_s) {
    constexpr double after_a_signal_s = 1;
    return waited_s > (stop_signal() == 0 ? time_limit_s_ / 2 : after_a_signal_s);
  });
}

void StepLog::write(const StepReport& step, const std::string& schedule) {
  nlohmann::ordered_json line{{"iteration", step.iteration}};
  expect_in_place();
  if (!std::exchange(has_begun_, true)) begin();
  if (resumed_) line["resumed"] = resumed_->iteration;
  resumed_.reset();
  line.update({{"loss", step.loss},
               {"auxiliary_loss", step.auxiliary_loss},
               {"learning_rate", step.learning_rate},
               {"iteration_s", step.duration_s},
               {"tokens_per_s", tokens_per_s(scale_, step)},
               {"flops", step.flops},
               {"flops_per_s", flops_per_s(step)},
               {"dropped", step.dropped},
               {"peak_bytes", peak_bytes(step)}});
  if (const auto share = peak_share(scale_, step)) line["peak_share"] = *share;
  if (step.exposed) {
    line["exposed_s"] = step.exposed->all_s;
    line["exposed_waiting_s"] = step.exposed->waiting_s;
    line["exposed_bubble_s"] = step.exposed->bubble_s;
  }
  if (step.max_over_mean) line["max_over_mean"] = *step.max_over_mean;
  if (!schedule.empty()) line["schedule"] = schedule;
  if (step.z_loss != 0) line["z_loss"] = step.z_loss;
  if (step.heldout_loss) line["heldout_loss"] = *step.heldout_loss;
  if (step.outlier) line["skipped"] = step.outlier->quantity;
  if (step.gradient_norm) line["gradient_norm"] = *step.gradient_norm;
  const std::string text = line.dump() + "\n";
  add(text);
  if (const auto bytes = file_.bytes()) place_ = LogPlace{*bytes, checksum_of_line(text)};
}

}  // namespace moe
