// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

import DefaultTheme from 'vitepress/theme'
import './wide.css'

export default DefaultTheme
