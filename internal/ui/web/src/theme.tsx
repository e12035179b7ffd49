// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";

type Theme = "auto" | "light" | "dark";
const key = "kube-octavia-theme";
const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const names: Record<Theme, string> = { auto: "as the system", light: "light", dark: "dark" };

function stored(): Theme {
  const text = localStorage.getItem(key);
  return text === "light" || text === "dark" ? text : "auto";
}

/** The button that selects the colours: those of the system, light or dark. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(key, theme);
  }, [theme]);
  return (
    <button type="button" class="theme" onClick={() => setTheme(next[theme])} aria-label={`Colours: ${names[theme]}. Change to: ${names[next[theme]]}`}>
      Colours: {names[theme]}
    </button>
  );
}
