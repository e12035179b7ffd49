// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Which files are pages, their places in the site and in its navigation, and the targets of their
// links. All functions are pure.

import path from 'node:path'

/** The entries of all groups, outermost first. */
const entries = (group) => [...(group.pages ?? []), ...(group.groups ?? []).flatMap(entries)]

/** Reports whether a file matches an entry of navigation.json. A star matches any text without a slash. */
export const matches = (entry, file) =>
  new RegExp(`^${entry.split('*').map((text) => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('[^/]*')}$`).test(file)

/**
 * The groups with files in place of entries. A file belongs to the entry that names it without a
 * star, or else to the first one with the longest text that matches, so that `docs/*.md` takes what
 * no other entry does.
 */
export function navigation(groups, files) {
  const all = groups.flatMap(entries)
  const owner = new Map(files.map((file) => [file, all
    .filter((entry) => matches(entry, file))
    .sort((a, b) => a.includes('*') - b.includes('*') || b.length - a.length)[0]]))
  const place = ({ text, pages = [], groups = [] }) => ({
    text,
    pages: pages.flatMap((entry) => files.filter((file) => owner.get(file) === entry).sort()),
    groups: groups.map(place)
  })
  return groups.map(place)
}

/** All files of groups. */
export const filesOf = (groups) => groups.flatMap((group) => [...group.pages, ...filesOf(group.groups)])

/** The path of a page in the site: docs/reference/cli.md is reference/cli.md. */
export const sitePath = (file, paths) => paths[file] ?? file.replace(/^docs\//, '')

/** The title of a page: its first heading. */
export const title = (text) => /^# (.*)$/m.exec(text)?.[1].replace(/`/g, '')

/**
 * Where a link in a file leads in the site. Links to pages become links between pages of the site,
 * links to other files of the repository lead to the repository, and everything else stays.
 *
 * @param file the file with the link, from the root of the repository
 * @param href the target of the link
 * @param site.pages the path in the site of each file that is a page
 * @param site.repository the address of the repository
 * @param site.kind whether a path of the repository is a 'file' or a 'directory'; undefined if it is neither
 */
export function resolve(file, href, site) {
  const [, name, anchor] = /^([^#]*)(#.*)?$/.exec(href)
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || name === '') return href
  const target = path.posix.join(path.posix.dirname(file), decodeURI(name)).replace(/\/$/, '')
  const page = site.pages.get(target)
  if (page !== undefined) return `/${page}${anchor ?? ''}`
  const kind = site.kind(target)
  if (kind === undefined || target.startsWith('..')) throw new Error(`${file}: the link ${href} leads to ${target}, which does not exist`)
  return `${site.repository}/${kind === 'directory' ? 'tree' : 'blob'}/main/${target}${anchor ?? ''}`
}

/** The language of an indented block of code, which does not name it. */
export function language(text) {
  const first = text.trimStart().split('\n', 1)[0]
  if (/^\[[A-Za-z]+( "[^"]*")?\]$|^[a-z-]+ = /.test(first)) return 'ini'
  if (/^(- )?\{?[A-Za-z][\w./-]*:( .*)?$/.test(first)) return 'yaml'
  if (/^(\$ )?(export |\w+=|for |\.\/|bin\/|(ansible-playbook|base64|ctr|curl|diff|docker|git|go|helm|kind|kube-octavia|kubectl|make|npm|openssl|openstack|podman|scp|sha256sum|ssh|sudo) )/.test(first)) return 'sh'
  return 'text'
}
