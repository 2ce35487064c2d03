#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "db/connection.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/app/app.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/window.h"

/// Real pictures: these need a display, Xvfb's will do.
namespace viewer::screenshot_test {
namespace {

namespace fs = std::filesystem;

Image read_png(const std::string& path) {
  png_image description;
  std::memset(&description, 0, sizeof description);
  description.version = PNG_IMAGE_VERSION;
  Image image;
  if (png_image_begin_read_from_file(&description, path.c_str()) == 0) return image;
  description.format = PNG_FORMAT_RGB;
  image = {static_cast<int>(description.width), static_cast<int>(description.height), {}};
  image.rgb.resize(PNG_IMAGE_SIZE(description));
  png_image_finish_read(&description, nullptr, image.rgb.data(), 0, nullptr);
  return image;
}

std::size_t distinct_colors(const Image& image) {
  std::set<unsigned> colors;
  for (std::size_t i = 0; i + 2 < image.rgb.size(); i += 3) {
    colors.insert(image.rgb[i] * 65536U + image.rgb[i + 1] * 256U + image.rgb[i + 2]);
  }
  return colors.size();
}

// Share of pixels near `color`, a little tolerance for blending.
double share_of(const Image& image, Color color) {
  const auto near = [](std::uint8_t pixel, float channel) {
    return std::abs(pixel - channel * 255) < 4;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i + 2 < image.rgb.size(); i += 3) {
    count += near(image.rgb[i], color.r) && near(image.rgb[i + 1], color.g) &&
             near(image.rgb[i + 2], color.b);
  }
  return static_cast<double>(count) / (image.rgb.size() / 3.0);
}

// Pictures stay where MOE_VIEW_PICTURES points, for people to look at.
fs::path pictures() {
  if (const char* kept = std::getenv("MOE_VIEW_PICTURES")) return kept;
  return fs::temp_directory_path() / ("moe_view_pictures_" + std::to_string(getpid()));
}

class Screenshot : public ::testing::Test {
 protected:
  Screenshot() : folder(pictures()) {
    fs::create_directories(folder);
    fs::remove(folder / "results.db");
    db::Connection connection = db::open_writer((folder / "results.db").string());
    ids = fill_synthetic_database(connection);
  }
  ~Screenshot() override {
    if (std::getenv("MOE_VIEW_PICTURES") == nullptr) fs::remove_all(folder);
  }

  int moe_view(const std::string& arguments) const {
    const std::string command =
        "'" MOE_VIEW "' '" + (folder / "results.db").string() + "' " + arguments;
    return WEXITSTATUS(std::system(command.c_str()));
  }

  void keep(const Image& image, const std::string& name) const {
    std::ofstream(folder / name, std::ios::binary) << encode_png(image);
  }

  fs::path folder;
  SyntheticIds ids;
};

TEST_F(Screenshot, OfEveryPanelIsAPictureOfTheSizeAskedFor) {
  for (const Panel& shown : all_panels()) {
    const std::string panel = shown.name;
    const std::string path = (folder / (panel + ".png")).string();
    ASSERT_EQ(moe_view("--run 3 --size 1600x900 --panel " + panel + " --screenshot '" + path + "'"),
              0);
    const Image image = read_png(path);
    EXPECT_EQ(image.width, 1600) << panel;
    EXPECT_EQ(image.height, 900) << panel;
    EXPECT_GT(distinct_colors(image), 200U) << panel << " is blank";
    EXPECT_GT(fs::file_size(path), 20000U) << panel;
  }
}

TEST_F(Screenshot, OfATimelineShowsComputationAndCommunicationInTheirColours) {
  const std::string path = (folder / "study.png").string();
  ASSERT_EQ(moe_view("--screenshot '" + path + "'"), 0);
  const Image image = read_png(path);
  db::TimelineOp op;
  op.kind = "all_to_all";
  op.activity = "communication";
  EXPECT_GT(share_of(image, op_color(op)), 0.002);
  op.kind = "linear";
  op.activity = "computation";
  EXPECT_GT(share_of(image, op_color(op)), 0.01);
}

TEST_F(Screenshot, MayBeLargerThanTheScreen) {
  const std::string path = (folder / "large.png").string();
  ASSERT_EQ(moe_view("--size 3000x1700 --screenshot '" + path + "'"), 0);
  const Image image = read_png(path);
  EXPECT_EQ(image.width, 3000);
  EXPECT_GT(distinct_colors(image), 200U);
}

TEST_F(Screenshot, InAFolderThatIsNotThereIsWrongUse) {
  EXPECT_EQ(moe_view("--screenshot /nonexistent/folder/x.png 2>/dev/null"), 2);
}

TEST_F(Screenshot, IsWrittenThroughLinksAndPipes) {
  const fs::path link = folder / "link.png", target = folder / "target.png";
  fs::remove(link);
  fs::create_symlink(target, link);
  ASSERT_EQ(moe_view("--screenshot '" + link.string() + "'"), 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_png(target.string()).width, 1600);

  const fs::path pipe = folder / "pipe", copy = folder / "copy.png";
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string reader = "cat '" + pipe.string() + "' > '" + copy.string() + "' & ";
  const std::string view = "'" MOE_VIEW "' '" + (folder / "results.db").string() +
                           "' --screenshot '" + pipe.string() + "'; code=$?; wait; exit $code";
  ASSERT_EQ(WEXITSTATUS(std::system((reader + view).c_str())), 0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(read_png(copy.string()).width, 1600);
}

TEST_F(Screenshot, ThatADeviceTakesNoMoreOfIsAFailure) {
  // By a link: should the device ever be replaced again, it is not the machine's own.
  const fs::path full = folder / "full";
  fs::remove(full);
  fs::create_symlink("/dev/full", full);
  EXPECT_EQ(moe_view("--screenshot '" + full.string() + "' 2>/dev/null"), 1);
  EXPECT_TRUE(fs::is_symlink(full));
}

TEST_F(Screenshot, DoesNotReplaceTheDatabase) {
  const fs::path database = folder / "results.db";
  EXPECT_EQ(moe_view("--screenshot '" + database.string() + "' 2>/dev/null"), 2);
  EXPECT_EQ(moe_view("--screenshot '" + (folder / "after.png").string() + "'"), 0);
}

TEST_F(Screenshot, OfSelectionTooltipAndKeysDiffersFromThePlainOne) {
  const db::Connection connection = db::open_reader((folder / "results.db").string());
  Start start;
  start.run = ids.pipelined_run;
  App app{open_session(connection, start)};
  Window window("pictures", 1600, 900, false);
  app.fonts = window.fonts();
  const auto draw = [&] { draw_app(app); };
  const Image plain = window.render(draw, 1600, 900, 4);

  auto& panel = app.states.of<TimelinePanel>();
  panel.view = {0.12, 0.24};
  panel.selected = StackPosition{0, {1, 3}};
  panel.range = TimeRange{0.14, 0.2};
  ImGui::GetIO().MousePos = {800, 197};
  const Image selected = window.render(draw, 1600, 900, 4);
  keep(selected, "selection.png");
  EXPECT_NE(plain.rgb, selected.rgb);
  EXPECT_TRUE(panel.hovered);

  app.help = true;
  panel.own_axis = true;
  panel.range.reset();
  const Image help = window.render(draw, 1600, 900, 4);
  keep(help, "keys.png");
  EXPECT_NE(help.rgb, selected.rgb);

  app.help = false;
  select_trial(app.session, ids.best_trial);
  keep(window.render(draw, 1600, 900, 4), "trial.png");
  EXPECT_EQ(app.session.timelines.size(), 3U);
}

}  // namespace
}  // namespace viewer::screenshot_test
