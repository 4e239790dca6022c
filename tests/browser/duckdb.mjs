// Runs SQL statements in DuckDB: a JSON list of them on standard input, the rows of each on standard output, values as text.
// The module is looked for where npm put it: here, or in the folder that CGTRACE_DUCKDB names. Exit status 3: it is not there.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

let api;
try {
    api = createRequire(process.env.CGTRACE_DUCKDB ? process.env.CGTRACE_DUCKDB + '/' : import.meta.url)('@duckdb/node-api');
} catch {
    process.exit(3);
}
const connection = await (await api.DuckDBInstance.create(':memory:')).connect();
const results = [];
for (const statement of JSON.parse(readFileSync(0, 'utf8')))
    results.push((await connection.runAndReadAll(statement)).getRowsJson().map((row) => row.map(String)));
console.log(JSON.stringify(results));
