package kernel

import "sort"

// SortBy sorts a list and keeps the order of equal elements. With slices.SortFunc, the program would contain one copy
// of the function per type, which would add 10 KB after compression.
func SortBy[T any](list []T, compare func(a, b *T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(&list[i], &list[j]) < 0 })
}
