// Package replicas tests several servers on one PostgreSQL database: exact limits, and outages of the database under
// load.
package replicas
