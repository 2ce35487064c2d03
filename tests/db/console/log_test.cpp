#include "db/console/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

namespace db::log_test {
namespace {

/// Gives the tests of other files their logger back.
class Log : public testing::Test {
 protected:
  ~Log() override {
    spdlog::set_default_logger(before_);
    spdlog::set_level(spdlog::level::info);
  }

  static std::string said(const std::function<void()>& speak) {
    testing::internal::CaptureStderr();
    speak();
    return testing::internal::GetCapturedStderr();
  }

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(Log, NamesTheProgramAndTheLevelOfWarnings) {
  begin_log("moe-train");
  EXPECT_EQ(said([] { spdlog::info("tiny on {} ranks", 2); }), "moe-train: tiny on 2 ranks\n");
  EXPECT_EQ(said([] { spdlog::warn("slow"); }), "moe-train: warning: slow\n");
  EXPECT_EQ(said([] { log_error("no"); }), "moe-train: no\n");
}

TEST_F(Log, NamesTheRankOnce) {
  begin_log("moe-train");
  log_as_rank(1);
  EXPECT_EQ(said([] { spdlog::error("no memory"); }), "moe-train: rank 1: no memory\n");
  EXPECT_EQ(said([] { spdlog::error("rank 1: no memory"); }), "moe-train: rank 1: no memory\n");
  EXPECT_EQ(said([] { spdlog::warn("slow"); }), "moe-train: rank 1: warning: slow\n");
}

TEST_F(Log, LeavesOutWhatATerminalActsOn) {
  begin_log("moe-db");
  EXPECT_EQ(said([] { spdlog::info("a\x1b[31m\nb"); }), "moe-db: a\\x1b[31m\nb\n");
}

TEST_F(Log, SaysAsMuchAsIsAskedFor) {
  const auto lines = [](const std::string& options) {
    spdlog::set_level(spdlog::level::info);
    begin_log("p");
    CLI::App app;
    add_log_options(app);
    app.parse(options);
    return said([] {
      spdlog::debug("d");
      spdlog::info("i");
      spdlog::warn("w");
      spdlog::error("e");
    });
  };
  EXPECT_EQ(lines(""), "p: i\np: warning: w\np: e\n");
  EXPECT_EQ(lines("--quiet"), "p: e\n");
  EXPECT_EQ(lines("--log-level error"), "p: e\n");
  EXPECT_EQ(lines("--log-level warning"), "p: warning: w\np: e\n");
  EXPECT_EQ(lines("--log-level debug"), "p: d\np: i\np: warning: w\np: e\n");
  EXPECT_THROW(lines("--log-level loud"), CLI::ValidationError);
  EXPECT_THROW(lines("--quiet --log-level info"), CLI::ExcludesError);
}

}  // namespace
}  // namespace db::log_test
