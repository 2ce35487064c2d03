# cmake -DINPUT=schema.sql -DOUTPUT=schema_sql.cpp -P embed_sql.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"db/schema_sql.h\"

namespace db {

const std::string_view schema_sql = R\"sql(${text})sql\";

}  // namespace db
")
