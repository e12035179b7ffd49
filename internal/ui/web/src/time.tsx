// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";

/** Parses a time, or returns null for the year 1, which the server writes if there is no time. */
export function timeOf(text: string): Date | null {
  const time = new Date(text);
  return isNaN(time.getTime()) || time.getFullYear() < 2000 ? null : time;
}

/** Shows a time of today without, others with the date; the tooltip has the complete time. */
export function Time({ at, prefix = "" }: { at: string; prefix?: string }) {
  const time = timeOf(at);
  if (!time) return null;
  const today = new Date().toDateString() === time.toDateString();
  return (
    <time class="place" dateTime={at} title={time.toISOString()}>
      {prefix}
      {today ? time.toLocaleTimeString() : time.toLocaleString()}
    </time>
  );
}

/** An age, such as "4 min", which updates itself. */
export function Age({ at }: { at: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((Math.max(now, Date.now()) - (timeOf(at)?.getTime() ?? now)) / 1000));
  if (seconds < 100) return <>{seconds} s</>;
  return <>{seconds < 100 * 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`}</>;
}
