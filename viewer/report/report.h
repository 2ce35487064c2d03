#pragma once

#include <string>

#include "viewer/model/session.h"

/// A report that can be sent: on a study with pictures of every panel, on a search with those of its
/// setups; a page and tables.
namespace viewer {

/// Writes a report on the search (search_facts.h) or the study (study_facts.h) of the selected run
/// into `folder`, which is made, or is empty: index.html, which holds its pictures and refers to nothing elsewhere, and beside it
/// the pictures as PNG and the tables as CSV. The page is written last; where something fails, what
/// was written is removed again. Draws without a display. Throws db::Error, db::OutputError and
/// DisplayError.
void write_report(Session& session, const std::string& folder);

}  // namespace viewer
