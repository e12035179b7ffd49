// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import "slices"

// maxTokens is the maximum number of tokens that Secrets remembers, so that a day of tests does not
// exhaust the memory.
const maxTokens = 100_000

// Secrets returns what must never be shown: the passwords of all users, the secrets of all
// application credentials that were ever created, and all tokens that were ever issued (or the
// newest 100,000), valid or not. Tests search logs and other output for them.
func (s *Service) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(s.credentialSecrets, s.issued)
	for _, u := range s.users {
		all = append(all, u.password)
	}
	return all
}

// noteToken remembers a token that is being issued.
func (s *Service) noteToken(id string) {
	if len(s.issued) == maxTokens {
		s.issued = slices.Delete(s.issued, 0, maxTokens/10)
	}
	s.issued = append(s.issued, id)
}
