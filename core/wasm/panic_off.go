//go:build tinygo && !panicswitch

package main

func panicIfAsked() {}
