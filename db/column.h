#pragma once

/// How a struct of a record says which table it is, and which field which column.
namespace db {

enum class NotFinite {
  refused,  ///< NaN or infinity in this column is an error
  is_null   ///< either is stored as NULL; NULL reads back as NaN (or as nothing, where the field is
            ///< optional)
};

template <class Record, class Field>
struct Column {
  const char* name;
  Field Record::*field;
  NotFinite not_finite = NotFinite::refused;
};
template <class Record, class Field>
Column(const char*, Field Record::*) -> Column<Record, Field>;
template <class Record, class Field>
Column(const char*, Field Record::*, NotFinite) -> Column<Record, Field>;

/// name: of the table; columns: a tuple of Column, in the order of the struct.
template <class Record>
struct Table;

}  // namespace db
