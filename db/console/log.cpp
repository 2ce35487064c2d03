#include "db/console/log.h"

#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "db/console/options.h"
#include "db/console/shown_text.h"

namespace db {
namespace {

class LineFormatter : public spdlog::formatter {
 public:
  LineFormatter(std::string program, std::optional<int> rank)
      : program_(std::move(program)), rank_(rank) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const bool names_rank = !rank_ || text.starts_with("rank ");
    fmt::format_to(fmt::appender(line), "{}: {}{}{}\n", program_,
                   names_rank ? "" : fmt::format("rank {}: ", *rank_),
                   message.level == spdlog::level::warn ? "warning: " : "", escaped(text, true));
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(program_, rank_);
  }

 private:
  std::string program_;
  std::optional<int> rank_;
};

}  // namespace

void begin_log(const std::string& program) {
  const auto level = spdlog::get_level();
  auto logger =
      std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::make_unique<LineFormatter>(program, std::nullopt));
  logger->set_level(level);
  spdlog::set_default_logger(std::move(logger));
}

void log_as_rank(int rank) {
  const auto& logger = spdlog::default_logger();
  logger->set_formatter(std::make_unique<LineFormatter>(logger->name(), rank));
}

void log_error(const std::string& text) { spdlog::error(text); }
void log_info(const std::string& text) { spdlog::info(text); }

void add_log_options(CLI::App& app) {
  auto* quiet = app.add_flag_callback(
      "--quiet", [] { spdlog::set_level(spdlog::level::err); }, "say nothing on stderr but errors");
  app.add_option_function<std::string>(
         "--log-level",
         [](const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); },
         "which messages stderr gets: error, warning, info or debug [default: info]")
      ->check(options::one_of({"error", "warning", "info", "debug"}))
      ->excludes(quiet);
}

}  // namespace db
