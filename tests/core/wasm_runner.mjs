// Run core test modules on the WebAssembly MicroPython: node wasm_runner.mjs MICROPYTHON_MJS REPOSITORY TESTS MODULE...
// TESTS is the folder of the modules. MicroPython's file system is in memory here, so the firmware, the tests and the
// vectors are copied in, each to the place that it has in the repository.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [micropythonPath, repository, tests, ...modules] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(micropythonPath));
const micropython = await loadMicroPython({ linebuffer: true, stdout: (line) => process.stdout.write(line + "\n") });

function copyIn(source, target) {
  if (!existsSync(source)) return;
  if (!micropython.FS.analyzePath(target).exists) micropython.FS.mkdir(target);
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const from = `${source}/${entry.name}`;
    const to = `${target}/${entry.name}`;
    if (entry.isFile()) micropython.FS.writeFile(to, readFileSync(from));
    else if (entry.isDirectory() && entry.name !== "__pycache__") copyIn(from, to);
  }
}

for (const folder of ["/firmware", "/tests"]) micropython.FS.mkdir(folder);
copyIn(`${repository}/firmware/dcka_core`, "/firmware/dcka_core");
copyIn(`${repository}/tests/core`, "/tests/core");
copyIn(`${repository}/tests/vectors`, "/tests/vectors");
copyIn(tests, "/tests/core");

const suiteArguments = JSON.stringify(["/firmware", "/tests/core", ...modules]);
micropython.runPython(`
import sys
sys.path.insert(0, "/tests/core")
import run_suite
exit_code = run_suite.main(${suiteArguments})
`);
process.exitCode = micropython.globals.get("exit_code");
