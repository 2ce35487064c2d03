#pragma once

#include <imgui.h>

#include <cstddef>
#include <span>
#include <string>

/// Cells of tables: words at the left, figures and the headers above them at the right.
namespace viewer {

/// The next cell of the row, with the text at its left or right edge. Words that do not fit end
/// with an ellipsis, and the tooltip has all of them.
void text_cell(const std::string& text);
void figure_cell(const std::string& text);

/// The text as far as it fits into the rest of the cell; all of it while the table is copied.
std::string fitting(const ImFont& font, const std::string& text);

/// Where `shown` is not all of the text, the last item has a tooltip that is.
void explain_cut(const std::string& text, const std::string& shown);

/// The header row; columns from `first_figure` on have their names at the right. `sortable` keeps
/// room for the arrow.
void header_row(std::span<const char* const> names, std::size_t first_figure,
                bool sortable = false);

/// Whether the mouse is on the last item of the table; not while the table is copied, which a
/// tooltip would end.
bool is_cell_hovered();

/// ImGui::EndTable for tables that have a header row.
void end_table();

}  // namespace viewer
