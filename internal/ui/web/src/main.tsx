// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { render } from "preact";
import { App } from "./app";

render(<App />, document.getElementById("app")!);
