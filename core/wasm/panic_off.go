//go:build tinygo && !panicswitch

package main

func panicIfArmed() {}
