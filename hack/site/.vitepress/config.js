// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// The site of the documentation. Its pages are the files of the repository, see navigation.json.

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { filesOf, language, matches, navigation, resolve, sitePath, title } from '../pages.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8')
const { groups, landing, paths, titles, wide } = JSON.parse(read('hack/site/navigation.json'))

/** All Markdown files below a directory of the repository. */
const markdown = (directory) => fs.readdirSync(path.join(root, directory), { withFileTypes: true }).flatMap((entry) => {
  const name = path.posix.join(directory, entry.name)
  if (entry.isDirectory()) return entry.name.startsWith('.') || entry.name === 'node_modules' ? [] : markdown(name)
  return name.endsWith('.md') ? [name] : []
})
const files = markdown('')
const navigated = navigation(groups, files)
const pages = new Map(filesOf(navigated).map((file) => [file, sitePath(file, paths)]))
for (const [file, page] of Object.entries(paths)) pages.set(file, page)

const repository = `https://${/^module (\S+)/m.exec(read('go.mod'))[1]}`
const kind = (file) => {
  const stat = fs.statSync(path.join(root, file), { throwIfNoEntry: false })
  return stat && (stat.isDirectory() ? 'directory' : 'file')
}

const link = (file) => `/${pages.get(file)}`
const item = (file) => ({ text: titles[file] ?? title(read(file)) ?? file, link: link(file) })
const sidebar = ({ text, pages, groups }) => {
  const items = [...pages.map(item), ...groups.flatMap(sidebar)]
  return items.length > 0 ? [{ text, collapsed: false, items }] : []
}

/** What a page may load: nothing from other hosts. */
const policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"

/** The path of the page that is rendered, in the repository. */
const source = ({ path: file = root, realPath = file }) => path.relative(root, realPath)

/** Makes Markdown read as in the repository: its links, its anchors, its blocks of code. */
const asInRepository = (md) => {
  const { link_open: linkOpen, fence } = md.renderer.rules
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href')
    if (!tokens[i].attrGet('class')?.includes('header-anchor')) {
      tokens[i].attrSet('href', resolve(source(env), href, { pages, repository, kind }))
    }
    return linkOpen(tokens, i, options, env, self)
  }
  // Pages with measurements have no title, and the landing page shows its own.
  md.core.ruler.before('normalize', 'title', (state) => {
    const file = source(state.env)
    if (file === 'README.md') state.src = state.src.replace(/^# .*$/m, '')
    if (titles[file] && !title(state.src)) state.src = `# ${titles[file]}\n\n${state.src}`
  })
  // A list without spaces, or a name with a prefix, must not make its column so wide that other
  // columns are hidden.
  const { code_inline: codeInline, text } = md.renderer.rules
  md.renderer.rules.text = (...args) => text(...args).replace(/,(?=\S)/g, ',<wbr>')
  md.renderer.rules.code_inline = (...args) => codeInline(...args).replace(/(?<=\w)\/(?=\w)/g, '/<wbr>')
  md.renderer.rules.code_block = (tokens, i, options, env, self) => {
    tokens[i].info = language(tokens[i].content)
    return fence(tokens, i, options, env, self)
  }
}

/** Pages import modules of this directory, although they are outside of it. */
const importsOfPages = {
  name: 'imports-of-pages',
  enforce: 'pre',
  resolveId (source, importer) {
    const page = /^vue(\/|$)/.test(source) && importer?.split('?')[0].endsWith('.md')
    return page ? this.resolve(source, fileURLToPath(import.meta.url), { skipSelf: true }) : undefined
  }
}

export default defineConfig({
  title: 'kube-octavia',
  description: 'Load balancers for Kubernetes Services from OpenStack Octavia',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: root,
  outDir: path.join(root, 'bin/site'),
  cacheDir: path.join(root, '.cache/site'),
  srcExclude: files.filter((file) => !pages.has(file)),
  rewrites: Object.fromEntries(pages),
  transformPageData: ({ filePath }) => {
    if (filePath === 'README.md') return { title: 'kube-octavia', titleTemplate: landing.titleTemplate, frontmatter: landing }
    // Tables need the space of the outline.
    if (wide.some((entry) => matches(entry, filePath))) return { frontmatter: { aside: false } }
  },
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: policy }]
  ],
  markdown: {
    anchor: { slugify: slug },
    attrs: { disable: true },
    config: asInRepository
  },
  themeConfig: {
    nav: navigated.map(({ text, pages, groups }) => ({ text, link: link(filesOf([{ pages, groups }])[0]) })),
    sidebar: navigated.flatMap(sidebar),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    footer: { message: 'Apache License 2.0', copyright: 'Copyright The kube-octavia Authors' }
  },
  vite: { plugins: [importsOfPages] }
})
