# cmake -DINPUT=schema.sql -DNAME=schema_sql -DOUTPUT=schema_sql.cpp -P embed_sql.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"db/schema_sql.h\"

namespace db {

const std::string_view ${NAME} = R\"sql(${text})sql\";

}  // namespace db
")
