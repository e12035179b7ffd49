// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package glance simulates the part of OpenStack's image service, Glance v2, with which clients of
// Nova find the names of images: list and show. It imports only package wire.
package glance

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Image is a public image.
type Image struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Size is in bytes.
	Size            int64    `json:"size"`
	Status          string   `json:"status"`
	Visibility      string   `json:"visibility"`
	ContainerFormat string   `json:"container_format"`
	DiskFormat      string   `json:"disk_format"`
	MinDisk         int      `json:"min_disk"`
	MinRAM          int      `json:"min_ram"`
	Owner           string   `json:"owner"`
	Protected       bool     `json:"protected"`
	Hidden          bool     `json:"os_hidden"`
	Tags            []string `json:"tags"`
	CreatedAt       string   `json:"created_at"`
	UpdatedAt       string   `json:"updated_at"`
	Self            string   `json:"self"`
	File            string   `json:"file"`
	Schema          string   `json:"schema"`
}

// Service is Glance with one image. It is safe for concurrent use.
type Service struct{ images []Image }

// New returns a Glance with one image with that name, owned by the project.
func New(name, projectID string, now time.Time) *Service {
	id, at := uuid.NewString(), now.UTC().Format(time.RFC3339)
	return &Service{images: []Image{{
		ID: id, Name: name, Size: 600 << 20, Status: "active", Visibility: "public", ContainerFormat: "bare", DiskFormat: "qcow2",
		Owner: projectID, Tags: []string{}, CreatedAt: at, UpdatedAt: at, Self: "/v2/images/" + id, File: "/v2/images/" + id + "/file", Schema: "/v2/schemas/image",
	}}}
}

// ImageID returns the id of the image.
func (s *Service) ImageID() string { return s.images[0].ID }

// Public reports whether a route needs no token: only the version documents.
func Public(route string) bool { return route == "/" || route == "/versions" }

// Mux returns Glance's routes.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", listVersions)
	mux.HandleFunc("GET /versions", listVersions)
	mux.HandleFunc("GET /v2/images", s.list)
	mux.HandleFunc("GET /v2/images/{id}", s.show)
	return mux
}

func listVersions(w http.ResponseWriter, r *http.Request) {
	links := []any{map[string]string{"rel": "self", "href": "http://" + r.Host + "/v2/"}}
	wire.JSON(w, http.StatusMultipleChoices, map[string]any{"versions": []any{
		map[string]any{"id": "v2.9", "status": "CURRENT", "links": links},
		map[string]any{"id": "v2.0", "status": "SUPPORTED", "links": links},
	}})
}

func (s *Service) list(w http.ResponseWriter, r *http.Request) {
	wire.Collection[Image]{
		Key: "images", ID: func(i Image) string { return i.ID }, DefaultSort: []string{"created_at:desc"}, MaxLimit: 1000, LinkStyle: wire.LinksNone,
		Filter: func(i Image, key string, values []string) (match, known bool) {
			wanted, isList := strings.CutPrefix(values[0], "in:")
			if !isList || key != "id" && key != "name" {
				return false, false
			}
			return slices.Contains(strings.Split(wanted, ","), map[string]string{"id": i.ID, "name": i.Name}[key]), true
		},
		BadMarker: func(w http.ResponseWriter, _ string) {
			fail(w, http.StatusBadRequest, "Invalid marker. Image could not be found.")
		},
		BadQuery: func(w http.ResponseWriter, message string) { fail(w, http.StatusBadRequest, message) },
	}.Write(w, r, s.images)
}

func (s *Service) show(w http.ResponseWriter, r *http.Request) {
	for _, i := range s.images {
		if i.ID == r.PathValue("id") {
			wire.JSON(w, http.StatusOK, i)
			return
		}
	}
	fail(w, http.StatusNotFound, "No image found with ID "+r.PathValue("id"))
}

// fail answers as Glance does, with an HTML page.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html>\n <head>\n  <title>%[1]d %[2]s</title>\n </head>\n <body>\n  <h1>%[1]d %[2]s</h1>\n  %[3]s<br /><br />\n </body>\n</html>",
		status, http.StatusText(status), html.EscapeString(message))
}
