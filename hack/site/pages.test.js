// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesOf, language, navigation, resolve, sitePath, title } from './pages.js'

const site = {
  pages: new Map([['docs/how-to.md', 'how-to.md'], ['docs/reference/cli.md', 'reference/cli.md'], ['charts/kube-octavia/README.md', 'reference/chart.md'], ['README.md', 'index.md']]),
  repository: 'https://example.com/repository',
  kind: (file) => ({ deploy: 'directory', 'deploy/example/secret.yaml': 'file' })[file]
}

for (const [what, file, href, want] of [
  ['a page beside it', 'docs/install.md', 'how-to.md', '/how-to.md'],
  ['a heading of a page', 'docs/reference/cli.md', '../how-to.md#upgrade', '/how-to.md#upgrade'],
  ['a heading of the same page', 'docs/install.md', '#next-steps', '#next-steps'],
  ['a page outside of docs', 'docs/install.md', '../charts/kube-octavia/README.md#values', '/reference/chart.md#values'],
  ['the landing page', 'docs/reference/cli.md', '../../README.md#status', '/index.md#status'],
  ['a directory of the repository', 'docs/install.md', '../deploy', 'https://example.com/repository/tree/main/deploy'],
  ['a directory with a slash', 'README.md', 'deploy/', 'https://example.com/repository/tree/main/deploy'],
  ['a file of the repository', 'docs/install.md', '../deploy/example/secret.yaml', 'https://example.com/repository/blob/main/deploy/example/secret.yaml'],
  ['another host', 'docs/install.md', 'https://example.org/a.md#b', 'https://example.org/a.md#b']
]) {
  test(`a link to ${what} leads to ${want}`, () => assert.equal(resolve(file, href, site), want))
}

for (const href of ['gone.md', '../gone', '../../outside.md', '../deploy/gone.yaml']) {
  test(`a link to ${href}, which does not exist, is an error`, () => {
    assert.throws(() => resolve('docs/install.md', href, site), /docs\/install\.md: the link .* does not exist/)
  })
}

test('a new page goes where the most exact entry of the navigation puts it', () => {
  const groups = [
    { text: 'A', pages: ['docs/b.md', 'docs/quick-*.md'], groups: [{ text: 'B', pages: ['docs/*.md'] }] },
    { text: 'C', pages: ['docs/runbooks/*.md', 'docs/z.md'] }
  ]
  const files = ['docs/runbooks/X.md', 'docs/z.md', 'docs/new.md', 'docs/quick-start.md', 'docs/a.md', 'docs/b.md', 'test/x.md']
  const got = navigation(groups, files)
  assert.deepEqual(got, [
    { text: 'A', pages: ['docs/b.md', 'docs/quick-start.md'], groups: [{ text: 'B', pages: ['docs/a.md', 'docs/new.md'], groups: [] }] },
    { text: 'C', pages: ['docs/runbooks/X.md', 'docs/z.md'], groups: [] }
  ])
  assert.equal(filesOf(got).length, files.length - 1)
})

test('pages of docs are at the top of the site, others where the table says', () => {
  const paths = { 'CHANGELOG.md': 'changelog.md' }
  assert.deepEqual(['docs/a.md', 'docs/reference/b.md', 'CHANGELOG.md'].map((file) => sitePath(file, paths)), ['a.md', 'reference/b.md', 'changelog.md'])
})

test('the title is the first heading, without marks', () => {
  assert.equal(title('<!-- Written by `make generate`. -->\n\n# The `cloud.conf`\n\n## Next\n'), 'The cloud.conf')
})

for (const [text, want] of [
  ['[LoadBalancer]\nmax-members = 20\n', 'ini'],
  ['max-members = 20\n', 'ini'],
  ['metadata:\n  annotations:\n', 'yaml'],
  ['- {name: http, port: 80}\n', 'yaml'],
  ['kubectl get nodes\n', 'sh'],
  ['$ kube-octavia plan\nshop/web: no load balancer\n', 'sh'],
  ['group=kube-octavia-nodes\n', 'sh'],
  ['bin/cloudsim --data-plane\n', 'sh'],
  ['[  4.2s] A Service of type LoadBalancer\n', 'text'],
  ['NAME  TYPE\n', 'text']
]) {
  test(`a block that begins with ${JSON.stringify(text.split('\n')[0])} is ${want}`, () => assert.equal(language(text), want))
}
