package exchange

// dispatch sends the request to the first suitable target.
func (x *exchange) dispatch() {
	if x.startClassifier() {
		return
	}
	x.dispatchClassified()
}
