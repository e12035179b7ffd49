// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Builds the page into the directory of the first argument, dist by default.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const out = process.argv[2] ?? "dist";
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const result = await build({
  entryPoints: { app: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none", // licenses.txt has them
  outdir: out,
  metafile: true,
});
await build({ entryPoints: ["src/app.css"], minify: true, target: ["es2022"], outfile: out + "/app.css" });
copyFileSync("src/index.html", out + "/index.html");
copyFileSync("src/icon.svg", out + "/icon.svg");

// The licenses of all packages that the bundle contains a part of.
const packages = [...new Set(Object.keys(result.metafile.inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []))];
// The bundle of dagre contains graphlib.
const bundled = [...new Set([...packages, ...packages.flatMap((name) => Object.keys(manifest(name).dependencies ?? {}))])].sort();
writeFileSync(
  out + "/licenses.txt",
  "The page of kube-octavia ui contains these packages.\n" +
    bundled.map((name) => `\n--- ${name} ${manifest(name).version} (${manifest(name).license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`).join(""),
);

function manifest(name) {
  return JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
}
