// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import { Icon } from "./icon";
import { labelOf, type Entry } from "./model";
import { Time, timeOf } from "./time";

/** If two reads are further apart, the time of a change between them is shown as an interval. */
const exact = 60_000;

/** The changes, the newest first. With open, a click on an entry opens its Service. */
export function Timeline({ entries, open }: { entries: Entry[]; open?: (key: string) => void }) {
  return (
    <ol class="timeline">
      {entries.toReversed().map((e) => (
        <li key={e.number}>
          <Icon state={e.state} />
          <div>
            <When entry={e} />{" "}
            {open && e.service && (
              <button type="button" class="link" onClick={() => open(e.service)}>
                {e.service}
              </button>
            )}
            <span class="unseen">{labelOf(e.state)}</span>
            <p>{e.text}</p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function When({ entry: { after, at } }: { entry: Entry }) {
  const first = timeOf(after);
  if (!first || timeOf(at)!.getTime() - first.getTime() < exact) return <Time at={at} />;
  return (
    <>
      <Time at={after} prefix="between " /> <Time at={at} prefix="and " />
    </>
  );
}
