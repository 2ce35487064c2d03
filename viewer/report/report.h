#pragma once

#include <string>

#include "viewer/model/session.h"

/// A report on a study that can be sent: a page, pictures of every panel, and tables.
namespace viewer {

/// Writes a report on the study of the selected run (study_facts.h) into `folder`, which is made,
/// or is empty: index.html, which holds its pictures and refers to nothing elsewhere, and beside it
/// the pictures as PNG and the tables as CSV. The page is written last; where something fails, what
/// was written is removed again. Draws without a display. Throws db::Error, db::OutputError and
/// DisplayError.
void write_report(Session& session, const std::string& folder);

}  // namespace viewer
