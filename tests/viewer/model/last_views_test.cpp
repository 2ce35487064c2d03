#include "viewer/model/last_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace viewer::last_views_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LastViewsTest : public ::testing::Test {
 protected:
  LastViewsTest()
      : folder(fs::temp_directory_path() / ("moe_view_last_" + std::to_string(getpid()))),
        file(folder / "moelab" / "viewer.json") {
    fs::create_directories(folder);
  }
  ~LastViewsTest() override { fs::remove_all(folder); }

  static LastView view_of(const std::string& path) {
    LastView view;
    view.path = path;
    return view;
  }
  void write(const std::string& text) const {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  fs::path folder, file;
};

TEST_F(LastViewsTest, AreReadAsTheyWereWritten) {
  LastView view = view_of("/data/results.db");
  view.latest_run = 7;
  view.run = 5;
  view.timelines = {3, 4};
  view.panel = "loads";
  view.table = "ops";
  view.range = TimeRange{0.1, 0.25};
  view.own_axis = true;
  view.ranks = "0-7,64";
  view.rank_order = "idle";
  remember_view(file, view, 1.5F);
  const LastViews kept = read_last_views(file);
  EXPECT_EQ(kept.problem, "");
  EXPECT_FLOAT_EQ(kept.zoom, 1.5F);
  ASSERT_NE(find_view(kept, "/data/results.db"), nullptr);
  EXPECT_EQ(*find_view(kept, "/data/results.db"), view);
  EXPECT_EQ(find_view(kept, "/data/others.db"), nullptr);
}

TEST_F(LastViewsTest, TheLatestIsFirstEachFileOnceAndTheOldestAreForgotten) {
  for (std::size_t i = 0; i < kMostViews + 3; ++i) {
    remember_view(file, view_of("/" + std::to_string(i)), 1);
  }
  remember_view(file, view_of("/10"), 1);
  const LastViews kept = read_last_views(file);
  ASSERT_EQ(kept.views.size(), kMostViews);
  EXPECT_EQ(kept.views[0].path, "/10");
  EXPECT_EQ(kept.views[1].path, "/" + std::to_string(kMostViews + 2));
  EXPECT_EQ(find_view(kept, "/0"), nullptr);
}

TEST_F(LastViewsTest, ADamagedFileIsIgnoredWithAWordAndWrittenAnew) {
  for (const char* text : {"", "no JSON", "[1, 2", "{}", R"({"views": [{"path": 3}]})",
                           R"({"views": [{"path": "/a", "range_s": [1]}]})", "[]", "null"}) {
    write(text);
    const LastViews kept = read_last_views(file);
    EXPECT_THAT(kept.problem, HasSubstr(file.string())) << text;
    EXPECT_TRUE(kept.views.empty()) << text;
  }
  remember_view(file, view_of("/a"), 1);
  EXPECT_EQ(read_last_views(file).problem, "");
}

TEST_F(LastViewsTest, AFileThatTheViewerDidNotWriteIsNotRead) {
  write(std::string(2 << 20, ' '));
  EXPECT_THAT(read_last_views(file).problem, HasSubstr("cannot be read"));
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_THAT(read_last_views(file).problem, HasSubstr("cannot be read"));
  EXPECT_EQ(read_last_views(folder / "none").problem, "") << "a first use is no problem";
}

TEST_F(LastViewsTest, ViewsThatCannotBeShownAreLeftOut) {
  write(R"({"zoom": 900, "views": [{"path": "relative.db"}, {"path": "/a", "range_s": [2, 1]},
            {"path": "/c", "range_s": [-1e308, 1e308]}, {"path": "/b"}]})");
  const LastViews kept = read_last_views(file);
  ASSERT_EQ(kept.views.size(), 1U);
  EXPECT_EQ(kept.views[0].path, "/b");
  EXPECT_FLOAT_EQ(kept.zoom, 1);
}

TEST_F(LastViewsTest, LieWhereTheStandardHasThem) {
  const char* state = getenv("XDG_STATE_HOME");
  const std::string before = state == nullptr ? "" : state;
  setenv("XDG_STATE_HOME", "/somewhere", 1);
  EXPECT_EQ(last_views_file(), "/somewhere/moelab/viewer.json");
  setenv("XDG_STATE_HOME", "relative", 1);  // is not valid, and ignored
  const std::string file_at_home = last_views_file().string();
  if (getenv("HOME") != nullptr) {
    EXPECT_THAT(file_at_home, HasSubstr("/.local/state/moelab/viewer.json"));
  }
  if (state == nullptr) {
    unsetenv("XDG_STATE_HOME");
  } else {
    setenv("XDG_STATE_HOME", before.c_str(), 1);
  }
}

}  // namespace
}  // namespace viewer::last_views_test
