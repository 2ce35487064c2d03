#pragma once

#include "db/connection.h"
#include "db/store.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/app/app.h"

namespace viewer {

/// The whole window without a display, on the synthetic database.
class OpenApp {
 public:
  App open(const Start& start = {}) const {
    App app{open_session(connection, start)};
    app.fonts = headless.fonts;
    return app;
  }
  App open(std::int64_t run, std::string_view panel) const {
    Start start;
    start.run = run;
    App app = open(start);
    show_panel(app, panel);
    return app;
  }

  Headless headless;
  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
};

}  // namespace viewer
