package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"sunaba/internal/session"
)

// imageTypes are the image formats that are passed on.
func imageTypes() []string {
	return []string{"image/png", "image/jpeg", "image/webp", "image/gif"}
}

// images reads and decodes the images of a request. Every limit is checked on
// the encoded length first, so that nothing over a limit is ever decoded; text
// is how many bytes the request's text already uses.
func (a *arguments) images(name string, limits Limits, text int64) []session.Image {
	raw, ok := a.fields[name]
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if kindOf(raw) != "array" || json.Unmarshal(raw, &items) != nil {
		a.wrongType(name, "array", raw)
		return nil
	}
	if len(items) > limits.MaxImages {
		a.refuse("input.images_count", "limit", strconv.Itoa(limits.MaxImages), "count", strconv.Itoa(len(items)))
		return nil
	}
	images := make([]session.Image, 0, len(items))
	used := text
	for i, item := range items {
		image := a.image(name+"["+strconv.Itoa(i)+"]", item, limits)
		if a.refused != nil {
			return nil
		}
		if used += int64(len(image.Data)); used > limits.MaxRequestBytes {
			a.refuse("input.images_total", "limit", strconv.FormatInt(limits.MaxRequestBytes, 10))
			return nil
		}
		images = append(images, image)
	}
	return images
}

func (a *arguments) image(name string, raw json.RawMessage, limits Limits) session.Image {
	one := &arguments{fields: map[string]json.RawMessage{}}
	defer func() {
		if a.refused == nil {
			a.refused = one.refused
		}
	}()
	var members map[string]json.RawMessage
	if kindOf(raw) != "object" || json.Unmarshal(raw, &members) != nil {
		one.wrongType(name, "object", raw)
		return session.Image{}
	}
	for member, value := range one.only(members, name+".", []string{"mime_type", "data"}) {
		one.fields[name+"."+member] = value
	}
	mime := strings.ToLower(strings.TrimSpace(one.text(name+".mime_type", 64)))
	if !slices.Contains(imageTypes(), mime) {
		one.refuse("input.mime", "field", name+".mime_type", "known", strings.Join(imageTypes(), ", "))
	}
	encoded, ok := one.fields[name+".data"]
	switch {
	case !ok:
		one.refuse("input.required", "field", name+".data")
	case kindOf(encoded) != "string":
		one.wrongType(name+".data", "string", encoded)
	case int64(len(encoded)) > limits.MaxImageBytes/3*4+limits.MaxImageBytes/32+64: // line breaks every 64 characters
		one.refuse("input.image_size", "field", name, "limit", strconv.FormatInt(limits.MaxImageBytes, 10))
	}
	if one.refused != nil {
		return session.Image{}
	}
	var text string
	if json.Unmarshal(encoded, &text) != nil {
		one.wrongType(name+".data", "string", encoded)
		return session.Image{}
	}
	data, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil || len(data) == 0:
		one.refuse("input.base64", "field", name+".data")
	case int64(len(data)) > limits.MaxImageBytes:
		one.refuse("input.image_size", "field", name, "limit", strconv.FormatInt(limits.MaxImageBytes, 10))
	}
	return session.Image{MIMEType: mime, Data: data}
}
