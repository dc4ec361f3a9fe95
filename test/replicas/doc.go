// Package replicas tests several servers on one PostgreSQL database: exact limits, outages of the database under load,
// and servers of two versions beside each other.
package replicas
